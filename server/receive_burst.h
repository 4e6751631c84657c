// ReceiveBurst: requests that one thread received one after another and
// submitted, and that their batcher has not been told of. It is told once for
// all of them: when nothing more has been received, by running their batch on
// this thread where it is short; or, so that nobody waits for long, by waking
// its lane before that.
//
// A thread that runs batches has the priority of those that do nothing else,
// until it has received so much since the last that it does not come to one.
//
// Invariant: the requests are of one model version, which is in use meanwhile.
//
// Thread safety: thread-compatible; each queue's thread has its own.
#ifndef FERRY_SERVER_RECEIVE_BURST_H_
#define FERRY_SERVER_RECEIVE_BURST_H_

#include <cstddef>
#include <optional>

#include "batcher/clock.h"
#include "server/model_entry.h"

namespace ferry {

class ReceiveBurst {
 public:
  // A call has three tags, two of them at its end, which for those of the batch
  // before come meanwhile.
  static constexpr int kMaxTags = 150;
  // Of a message: while a lane gathers rows of more, the next one is received.
  static constexpr size_t kMaxMessageBytes = size_t{64} << 10;
  // Of all messages; to read more takes as long as a short batch.
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  bool empty() const { return !entry_; }

  // Whether a request with a message of that size may be added.
  static bool Takes(size_t bytes) { return bytes <= kMaxMessageBytes; }

  // The entry's batcher has a request that it was not told of. Tells the one
  // that was added before, if that is another. REQUIRES: the caller uses the
  // entry.
  void Add(ModelEntry& entry);

  // A message of that size is about to be read.
  void MessageCame(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kMaxBytes) {
      End();
    }
  }

  // One more thing that was received has been dealt with.
  void TagTaken() {
    if (++tags_ >= kMaxTags) {
      End();
    }
    if (++tags_since_run_ == kMaxTags) {
      Lower();
    }
  }

  // Tells the batcher, if there is one to tell.
  void End();

  // Nothing more has been received. Tells the batcher, or runs the batch here.
  // Returns how long this thread may poll for the next request after that, or
  // nothing where it ran none. REQUIRES: !empty().
  std::optional<Duration> RunInline();

 private:
  ModelUse Take();
  void Lower();

  ModelUse entry_;  // none: there is nothing to tell
  // Since the burst began, or since the last one ended.
  int tags_ = 0;
  size_t bytes_ = 0;
  int tags_since_run_ = 0;  // of a batch here
  bool is_raised_ = false;  // this thread's priority
};

}  // namespace ferry

#endif  // FERRY_SERVER_RECEIVE_BURST_H_
