// Implements FakeMemory: one file in memory, mapped twice.
#include "tests/cuda_fake/fake_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/cuda_fake/fake_scenario.h"

namespace ferry::cuda_fake {
namespace {

// Addresses, not memory: enough for all that a test ever allocates.
constexpr size_t kAddresses = size_t{1} << 40;
constexpr size_t kAlignment = 4096;  // pages, so that freed ones are given back

size_t Rounded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

uintptr_t Map(int protection, int flags, int file) {
  void* const begin =
      mmap(nullptr, kAddresses, protection, flags | MAP_NORESERVE, file, 0);
  if (begin == MAP_FAILED) {
    std::perror("the fake device's memory");
    std::_Exit(1);
  }
  return reinterpret_cast<uintptr_t>(begin);
}

}  // namespace

FakeMemory& FakeMemory::Get() {
  static auto* const memory = new FakeMemory;
  return *memory;
}

FakeMemory::FakeMemory()
    : total_(FakeScenario::Get().memory_mib << 20),
      file_(memfd_create("ferry-fake-cuda", MFD_CLOEXEC)),
      used_(FakeScenario::Get().context_mib << 20) {
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(kAddresses)) != 0) {
    std::perror("the fake device's memory");
    std::_Exit(1);
  }
  device_ = Map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  alias_ = Map(PROT_READ | PROT_WRITE, MAP_SHARED, file_);
  next_ = device_;
  if (const std::string& log = FakeScenario::Get().log; !log.empty()) {
    used_file_ =
        open((log + ".used").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  }
}

void FakeMemory::TellUsed() const {
  if (used_file_ >= 0) {
    char text[32];
    const int size = std::snprintf(text, sizeof(text), "%-20zu\n", used_);
    if (pwrite(used_file_, text, static_cast<size_t>(size), 0) != size) {
      std::perror("the fake device's log");
    }
  }
}

void* FakeMemory::AllocateDevice(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t rounded = Rounded(bytes == 0 ? 1 : bytes);
  if (used_ + rounded > total_ || next_ + rounded > device_ + kAddresses) {
    return nullptr;
  }
  const uintptr_t begin = next_;
  next_ += rounded + kAlignment;  // a page between, so that overruns show
  used_ += rounded;
  of_device_[begin] = rounded;
  TellUsed();
  return reinterpret_cast<void*>(begin);
}

bool FakeMemory::FreeDevice(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = of_device_.find(reinterpret_cast<uintptr_t>(address));
  if (found == of_device_.end()) {
    return false;
  }
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(found->first - device_),
            static_cast<off_t>(found->second));
  used_ -= found->second;
  TellUsed();
  of_device_.erase(found);
  return true;
}

void* FakeMemory::AllocatePinned(size_t bytes) {
  const size_t rounded = Rounded(bytes == 0 ? 1 : bytes);
  void* const begin = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  pinned_[reinterpret_cast<uintptr_t>(begin)] = rounded;
  return begin;
}

bool FakeMemory::FreePinned(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(reinterpret_cast<uintptr_t>(address));
  if (found == pinned_.end()) {
    return false;
  }
  munmap(address, found->second);
  pinned_.erase(found);
  return true;
}

void FakeMemory::Register(void* address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  registered_[reinterpret_cast<uintptr_t>(address)] = bytes;
}

bool FakeMemory::Unregister(void* address) {
  const std::lock_guard lock(mutex_);
  return registered_.erase(reinterpret_cast<uintptr_t>(address)) > 0;
}

FakeMemory::Blocks::const_iterator FakeMemory::Find(const Blocks& blocks,
                                                    const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto after = blocks.upper_bound(at);
  if (after == blocks.begin()) {
    return blocks.end();
  }
  const auto block = std::prev(after);
  return at < block->first + block->second ? block : blocks.end();
}

bool FakeMemory::IsDevice(uintptr_t address) const {
  return address >= device_ && address < device_ + kAddresses;
}

FakeMemory::Kind FakeMemory::KindOf(const void* address) const {
  if (IsDevice(reinterpret_cast<uintptr_t>(address))) {
    return Kind::kDevice;
  }
  const std::lock_guard lock(mutex_);
  return Find(pinned_, address) != pinned_.end() ||
                 Find(registered_, address) != registered_.end()
             ? Kind::kPinned
             : Kind::kPageable;
}

std::byte* FakeMemory::Reach(const void* address, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (!IsDevice(at)) {
    return reinterpret_cast<std::byte*>(at);
  }
  return BytesFrom(address) < bytes
             ? nullptr
             : reinterpret_cast<std::byte*>(at - device_ + alias_);
}

size_t FakeMemory::BytesFrom(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto block = Find(of_device_, address);
  return block == of_device_.end() ? 0
                                   : block->first + block->second -
                                         reinterpret_cast<uintptr_t>(address);
}

const void* FakeMemory::BlockOf(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto block = Find(of_device_, address);
  return block == of_device_.end() ? nullptr
                                   : reinterpret_cast<void*>(block->first);
}

size_t FakeMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace ferry::cuda_fake
