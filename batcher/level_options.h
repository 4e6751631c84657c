// LevelOptions configures one level of priority.
//
// Thread safety: plain values.
#ifndef FERRY_BATCHER_LEVEL_OPTIONS_H_
#define FERRY_BATCHER_LEVEL_OPTIONS_H_

#include <cstdint>

#include "base/clock.h"

namespace ferry {

struct LevelOptions {
  Duration default_timeout{0};  // of a request, from its arrival; 0: none
  // Whether a request that waits for longer is served after the others of its
  // level instead of being refused. Its own deadline still ends it.
  bool delays_late = false;
  // Whether a request's own timeout counts where it is shorter.
  bool may_shorten = true;
  int32_t max_requests = 0;  // queued; 0: no bound but the queue's
};

}  // namespace ferry

#endif  // FERRY_BATCHER_LEVEL_OPTIONS_H_
