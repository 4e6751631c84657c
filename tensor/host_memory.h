// HostMemory allocates memory of the host that a batch's rows are gathered into
// or read from: memory of the process, or such as a device copies from and to
// by itself.
//
// Thread safety: thread-safe. HostRoom is thread-compatible.
#ifndef FERRY_TENSOR_HOST_MEMORY_H_
#define FERRY_TENSOR_HOST_MEMORY_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace ferry {

class HostMemory {
 public:
  // Returns memory of the process.
  static std::shared_ptr<HostMemory> Plain();

  virtual ~HostMemory() = default;

  // Returns so many bytes, aligned to kAlignment and uninitialized. Throws
  // std::bad_alloc without memory. REQUIRES: a multiple of kAlignment.
  virtual std::byte* Allocate(size_t bytes) = 0;
  // `size`: what Allocate() was asked for.
  virtual void Free(std::byte* bytes, size_t size) = 0;

  // How much of it a pool keeps idle: what is expensive to allocate.
  virtual size_t max_idle_bytes() const { return size_t{256} << 20; }

  static constexpr size_t kAlignment = 64;  // a cache line, a vector register
};

// Memory that only grows, by half or more at once, so that sizes that come one
// after the other allocate seldom; what was in it is lost when it does.
class HostRoom {
 public:
  // `memory` outlives it.
  explicit HostRoom(HostMemory& memory) : memory_(&memory) {}
  ~HostRoom() { Drop(); }
  HostRoom(HostRoom&& other) noexcept
      : memory_(other.memory_),
        bytes_(std::exchange(other.bytes_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  HostRoom& operator=(HostRoom&&) = delete;

  std::byte* data() const { return bytes_; }
  size_t capacity() const { return capacity_; }

  // Makes room for `size` bytes or more and returns it; null for none.
  std::byte* Reserve(size_t size) {
    if (size > capacity_) {
      const size_t step = capacity_ + capacity_ / 2;
      Drop();
      if (step > size && TryAllocate(step)) {
        return bytes_;
      }
      Allocate(size);
    }
    return bytes_;
  }

 private:
  void Allocate(size_t size) {
    const size_t rounded = (size + HostMemory::kAlignment - 1) /
                           HostMemory::kAlignment * HostMemory::kAlignment;
    bytes_ = memory_->Allocate(rounded);
    capacity_ = rounded;
  }

  bool TryAllocate(size_t size) {
    try {
      Allocate(size);
      return true;
    } catch (const std::bad_alloc&) {
      return false;  // there may be enough for less
    }
  }

  void Drop() {
    if (bytes_ != nullptr) {
      memory_->Free(std::exchange(bytes_, nullptr),
                    std::exchange(capacity_, 0));
    }
  }

  HostMemory* memory_;
  std::byte* bytes_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace ferry

#endif  // FERRY_TENSOR_HOST_MEMORY_H_
