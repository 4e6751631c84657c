// ReplyBurst: who hears that the replies of one batch follow, one after another
// on this thread, and that they have ended. A transport sends together what it
// is given in between.
//
// Thread safety: called from all threads that deliver, at the same time. One
// burst may lie within another on the same thread, as Respond() may submit.
#ifndef FERRY_BATCHER_REPLY_BURST_H_
#define FERRY_BATCHER_REPLY_BURST_H_

#include "batcher/clock.h"

namespace ferry {

class ReplyBurst {
 public:
  virtual void Begin() = 0;
  // A reply of the burst was given, or is not to be; `now` is of the batcher's
  // clock.
  virtual void Passed(TimePoint now) = 0;
  virtual void End() = 0;

 protected:
  ~ReplyBurst() = default;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_REPLY_BURST_H_
