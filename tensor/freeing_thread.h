// FreeingThread is another HostMemory whose memory is freed on a thread of its
// own: to free what a device reads may wait for all that the device does, and
// the thread that has sent the last reply of a batch is not to wait for that.
//
// What waits to be freed is bounded: past kMostWaiting bytes of it Allocate()
// waits, which may wait for the device anyway. Where there is no memory, it is
// asked for once more when all that waited has been freed.
//
// Thread safety: thread-safe. Destroyed when all of it was given back; what
// waits is freed by then.
#ifndef FERRY_TENSOR_FREEING_THREAD_H_
#define FERRY_TENSOR_FREEING_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "tensor/host_memory.h"

namespace ferry {

class FreeingThread final : public HostMemory {
 public:
  static constexpr size_t kMostWaiting = size_t{256} << 20;

  explicit FreeingThread(std::shared_ptr<HostMemory> memory,
                         size_t most_waiting = kMostWaiting);
  ~FreeingThread() override;

  std::byte* Allocate(size_t bytes) override;
  // Returns at once, but where the process has no memory left to note it.
  void Free(std::byte* bytes, size_t size) override;
  size_t max_idle_bytes() const override { return memory_->max_idle_bytes(); }

 private:
  struct Block {
    std::byte* bytes = nullptr;
    size_t size = 0;
  };

  void Run();
  // Waits for all that waits by now.
  void AwaitFreed();

  const std::shared_ptr<HostMemory> memory_;
  const size_t most_waiting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Block> waiting_ ABSL_GUARDED_BY(mutex_);
  // With that of the block that is being freed.
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t given_back_ ABSL_GUARDED_BY(mutex_) = 0;  // blocks, ever
  uint64_t freed_ ABSL_GUARDED_BY(mutex_) = 0;       // of them
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_TENSOR_FREEING_THREAD_H_
