// FakeMemory is the memory of the fake device, and the host's that it reads.
//
// The device's addresses are mapped, but nothing may touch them: the fake
// reaches what is there by another mapping. So the host that reads the device's
// memory by itself ends with SIGSEGV, as it would with a device, and each
// address that work reads or writes must lie in a block that is allocated. No
// address is given out twice: what was freed stays wrong.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_MEMORY_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace ferry::cuda_fake {

class FakeMemory {
 public:
  enum class Kind : uint8_t { kPageable, kPinned, kDevice };

  static FakeMemory& Get();

  // Null where the device has no more.
  void* AllocateDevice(size_t bytes);
  // Null where the host has no more.
  void* AllocatePinned(size_t bytes);
  // False where no block of that kind begins there.
  bool FreeDevice(void* address);
  bool FreePinned(void* address);
  // Memory of the host that the device may read from now on.
  void Register(void* address, size_t bytes);
  bool Unregister(void* address);

  // Says whose the address is.
  Kind KindOf(const void* address) const;
  // Returns where the fake may use so many bytes at that address: null where
  // they are the device's and not all of one block. Pageable memory is taken
  // to be there.
  std::byte* Reach(const void* address, size_t bytes) const;
  // The block of the device that holds the address, and what is behind it in
  // bytes; 0 where there is none.
  size_t BytesFrom(const void* address) const;
  const void* BlockOf(const void* address) const;

  size_t total() const { return total_; }
  size_t used() const;

 private:
  using Blocks = std::map<uintptr_t, size_t>;  // bytes by begin

  FakeMemory();
  void TellUsed() const;

  static Blocks::const_iterator Find(const Blocks& blocks, const void* address);
  bool IsDevice(uintptr_t address) const;

  const size_t total_;
  int file_ = -1;
  int used_file_ = -1;
  uintptr_t device_ = 0;  // where the device's addresses begin
  uintptr_t alias_ = 0;   // and where the fake reaches them
  mutable std::mutex mutex_;
  uintptr_t next_ = 0;
  size_t used_ = 0;
  Blocks of_device_;
  Blocks pinned_;
  Blocks registered_;
};

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_MEMORY_H_
