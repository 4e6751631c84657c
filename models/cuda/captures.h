// Captures keeps what LibTorch's captures are to the whole process: one thread
// at a time may record a graph or free what LibTorch keeps, as LibTorch itself
// does that unlocked; and after one that could not be ended nothing is sure.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_CUDA_CAPTURES_H_
#define FERRY_MODELS_CUDA_CAPTURES_H_

#include <atomic>

#include "base/mutex.h"

namespace ferry {

struct Captures {
  static Captures& Get() {
    static Captures captures;
    return captures;
  }

  Mutex mutex;
  // LibTorch's allocator takes part in one that is over.
  std::atomic<bool> are_broken{false};
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAPTURES_H_
