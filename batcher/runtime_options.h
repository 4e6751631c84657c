// RuntimeOptions are those options of a scheduler that can be changed while it
// serves.
//
// Thread safety: plain values.
#ifndef FERRY_BATCHER_RUNTIME_OPTIONS_H_
#define FERRY_BATCHER_RUNTIME_OPTIONS_H_

#include <cstdint>

#include "base/clock.h"
#include "batcher/admission.h"
#include "batcher/batch_policy.h"

namespace ferry {

struct RuntimeOptions {
  int32_t max_batch_size = 64;  // rows, 1 to what the model was loaded with
  PolicyKind policy = PolicyKind::kEager;
  Duration max_wait = Milliseconds(5);
  QueueBounds queue = {};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_RUNTIME_OPTIONS_H_
