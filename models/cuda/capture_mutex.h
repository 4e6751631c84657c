// CaptureMutex() lets one thread record a graph or free what LibTorch keeps.
//
// LibTorch keeps what belongs to captures for the whole process, unlocked.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_CUDA_CAPTURE_MUTEX_H_
#define FERRY_MODELS_CUDA_CAPTURE_MUTEX_H_

#include "base/mutex.h"

namespace ferry {

inline Mutex& CaptureMutex() {
  static Mutex mutex;
  return mutex;
}

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CAPTURE_MUTEX_H_
