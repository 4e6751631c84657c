// CorkedReplies: replies of one batch to one connection leave together, though
// gRPC writes each by itself (docs/decisions/0031-corked-replies.md).
//
// gRPC has no call for that, but it writes within the call that answers, on the
// same thread, with sendmsg(), unless another thread is at that connection. The
// server has a sendmsg() of its own, which adds MSG_MORE between Begin() and
// End(), as server/cork.h says, and then sends as libc does; End() has the
// sockets send what they hold, Passed() what they have held for too long. What
// other threads write takes along what the socket holds. Should a version of
// gRPC write differently, nothing is held.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_CORKED_REPLIES_H_
#define FERRY_SERVER_CORKED_REPLIES_H_

#include <atomic>
#include <cstdint>

#include "batcher/reply_burst.h"

namespace ferry {

class CorkedReplies final : public ReplyBurst {
 public:
  void Begin() override;
  // `now` is of Clock::Steady().
  void Passed(TimePoint now) override;
  void End() override;

  // Sends that were held.
  uint64_t held_count() const {
    return held_count_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> held_count_{0};
};

}  // namespace ferry

#endif  // FERRY_SERVER_CORKED_REPLIES_H_
