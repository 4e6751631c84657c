// ReceiveBurst: requests that one thread received one after another and
// submitted, and that their batcher has not been told of. It is told once for
// all of them: when nothing more has been received, by running their batch on
// this thread where it is short; or, so that nobody waits for long, by waking
// its lane before that.
//
// A thread that runs batches has the priority of those that do nothing else,
// until it receives so much that it does not come to it.
//
// Invariant: the requests are of one model version, which is in use meanwhile.
//
// Thread safety: thread-compatible; each queue's thread has its own.
#ifndef FERRY_SERVER_RECEIVE_BURST_H_
#define FERRY_SERVER_RECEIVE_BURST_H_

#include <cstddef>

#include "batcher/clock.h"
#include "server/model_entry.h"

namespace ferry {

class ReceiveBurst {
 public:
  // A call has three tags, two of them at its end; so the requests of a burst
  // are fifty at most, and more where few calls end.
  static constexpr int kMaxTags = 150;
  // To read more than that takes as long as a short batch.
  static constexpr size_t kMaxBytes = size_t{64} << 10;

  bool empty() const { return !entry_; }

  // The entry's batcher has a request that it was not told of. Tells the one
  // that was added before, if that is another. REQUIRES: the caller uses the
  // entry.
  void Add(ModelEntry& entry);

  // A message of that size is about to be read.
  void MessageCame(size_t bytes) {
    if (bytes > kMaxBytes) {
      End();
    }
  }

  // One more thing that was received has been dealt with.
  void TagTaken() {
    if (++tags_ == kMaxTags) {
      Pass();
    }
  }

  // Tells the batcher, if there is one to tell.
  void End();

  // Nothing more has been received. Tells the batcher, or runs the batch here.
  // Returns how long this thread may poll for the next request after that; 0
  // where it ran none. REQUIRES: !empty().
  Duration RunInline();

 private:
  void Pass();

  ModelUse entry_;          // none: there is nothing to tell
  int tags_ = 0;            // taken since the burst began, or since the last
  bool is_raised_ = false;  // this thread's priority
};

}  // namespace ferry

#endif  // FERRY_SERVER_RECEIVE_BURST_H_
