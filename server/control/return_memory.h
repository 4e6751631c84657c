// MemoryReturn gives memory that was freed back to the system, once it has not
// been used for a while; ReturnFreedMemory() gives back all of it at once;
// BoundFreedMemory() bounds what threads keep of it each for itself, where the
// allocator is tcmalloc.
//
// Both tcmalloc and glibc keep what was freed for the next allocation, after a
// peak for ever. What was free at each look for kUnused is not needed: that
// much is given back, whether or not the server is idle, half of kUnused later
// at most.
//
// Thread safety: MemoryReturn is thread-compatible, ReturnFreedMemory() is
// thread-safe. It takes some milliseconds a gigabyte, in which other threads'
// allocations may wait.
#ifndef FERRY_SERVER_CONTROL_RETURN_MEMORY_H_
#define FERRY_SERVER_CONTROL_RETURN_MEMORY_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace ferry {

// For the weights of a model that is gone there may be no next allocation.
void ReturnFreedMemory();

// From now on.
void BoundFreedMemory();

class MemoryReturn {
 public:
  // The allocator: how many bytes are free and still the process's, and how to
  // give so many back.
  struct Heap {
    std::function<size_t()> free_bytes;
    std::function<void(size_t)> give_back;
  };

  static constexpr Duration kUnused = std::chrono::seconds(10);
  static constexpr size_t kWorthIt = size_t{1} << 20;  // bytes
  // Given back in one step, which keeps other threads waiting.
  static constexpr size_t kMaxStep = size_t{32} << 20;

  // Returns the heap of this process.
  static Heap OfProcess();

  explicit MemoryReturn(Heap heap = OfProcess()) : heap_(std::move(heap)) {}

  // Called from time to time, at least twice in kUnused.
  void Look(TimePoint now);

 private:
  const Heap heap_;
  // The least free bytes at a look, in this half of kUnused and the one before.
  TimePoint since_ = kNever;
  size_t least_ = 0;
  size_t least_before_ = 0;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_RETURN_MEMORY_H_
