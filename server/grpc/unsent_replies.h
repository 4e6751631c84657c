// UnsentReplies bounds the memory of replies that wait for slow readers.
//
// A reply is unsent until gRPC has written its last byte, which a client that
// does not read can put off for ever. Past the bound the oldest reply is
// dropped, its call cancelled, if it has been unsent for kMinUnsent: a client
// that reads within that time loses nothing to one that does not. So the bound
// may be passed by what is answered within kMinUnsent, and by what the next
// Enforce() has yet to drop.
//
// Invariant: bytes() is the sum over all unsent replies, those included that
// are dropped and whose memory gRPC still holds: until the connection can be
// written to again, or keepalive gives it up.
//
// Thread safety: thread-safe. Nothing is allocated.
#ifndef FERRY_SERVER_GRPC_UNSENT_REPLIES_H_
#define FERRY_SERVER_GRPC_UNSENT_REPLIES_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

class UnsentReplies {
 public:
  // One reply, embedded in its call.
  class Reply {
   protected:
    ~Reply() = default;

   private:
    friend class UnsentReplies;

    // Cancels the call; its bytes go soon after, and Remove() follows as for
    // any other. Called under the lock: never blocks and calls nothing here.
    virtual void Drop() = 0;

    Reply* older_ = nullptr;
    Reply* newer_ = nullptr;
    TimePoint since_;
    size_t bytes_ = 0;  // 0: not unsent
    bool is_dropped_ = false;
  };

  static constexpr Duration kMinUnsent = std::chrono::seconds(1);

  // What a call holds beside its message, in gRPC and in Ferry: an estimate.
  static constexpr size_t kBytesOfCall = 8 << 10;

  // `clock` outlives this.
  explicit UnsentReplies(size_t max_bytes, const Clock& clock = Clock::Steady())
      : max_bytes_(max_bytes), clock_(clock) {}

  // One Add() cancels no more calls of others: it delays its gRPC thread, and
  // holds the lock.
  static constexpr size_t kMaxDropsAtOnce = 8;

  // Lists a reply of `message_bytes` that is about to be written, and drops the
  // oldest that waited for kMinUnsent while those that are left are past the
  // bound, at most kMaxDropsAtOnce.
  void Add(Reply& reply, size_t message_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for a reply that may be refused: returns false, and does not list
  // it, where it is larger than kBytesOfCall and would pass the bound together
  // with all that gRPC holds.
  [[nodiscard]] bool TryAdd(Reply& reply, size_t message_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers of a stream that wait for their turn behind another: they count,
  // and go when their stream's oldest does. Bytes of messages.
  void AddWaiting(size_t message_bytes);
  void RemoveWaiting(size_t message_bytes);

  // Drops all that Add() left, and what became old since. Called from time to
  // time.
  void Enforce();

  // The reply was written or never will be. Before the call is used again.
  void Remove(Reply& reply);

  size_t bytes() const;
  uint64_t dropped_count() const {
    return dropped_count_.load(std::memory_order_relaxed);
  }

 private:
  void List(Reply& reply, size_t message_bytes, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops at most kMaxDropsAtOnce, until there is room for so many bytes more;
  // returns how many.
  size_t DropPastBound(TimePoint now, size_t more = 0)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlink(Reply& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  const Clock& clock_;
  mutable Mutex mutex_;
  Reply* oldest_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Reply* newest_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;          // of listed replies
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of no listed reply
  size_t dropped_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of the others
  std::atomic<uint64_t> dropped_count_{0};
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_UNSENT_REPLIES_H_
