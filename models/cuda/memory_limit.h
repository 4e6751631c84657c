// MemoryLimit says how much of a device's memory LibTorch's allocator may hold:
// all but what is used beside it, as it was measured last, and a slack.
//
// Beside it are CUDA's context, kernels, which are loaded when they are first
// launched, graphs, and on a device that is no other process's alone what the
// others hold. Of a device whose memory several processes share by plan, as
// compute instances of one GPU instance do, it is a share at most; CUDA's own
// memory, half a GiB of each process, comes beside.
//
// The slack is for what comes beside until the next measure: kernels that
// warm-up did not launch. Where it is too small a batch finds no memory, and it
// is measured anew.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_CUDA_MEMORY_LIMIT_H_
#define FERRY_MODELS_CUDA_MEMORY_LIMIT_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"

namespace ferry {

// At one moment, in bytes.
struct MemoryUse {
  uint64_t total = 0;     // of the device
  uint64_t free = 0;      // of it, for any process
  uint64_t reserved = 0;  // of the rest, by LibTorch's allocator

  uint64_t beside() const;
};

class MemoryLimit {
 public:
  // 128 MiB, of a small device a sixteenth.
  static uint64_t Slack(uint64_t total);

  // `share` of the device's memory is the process's, (0, 1].
  explicit MemoryLimit(double share) : share_(share) {}

  // Has `limit` set how much the allocator may hold from now on, never less
  // than it does; not where it is what it was, but for an eighth of the slack.
  // What was set is logged; where `limit` throws, nothing was.
  void Learn(const MemoryUse& use, absl::FunctionRef<void(uint64_t)> limit);

 private:
  const double share_;
  std::optional<uint64_t> allowed_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_MEMORY_LIMIT_H_
