// Implements UnsentReplies: keeps a list of unsent replies, oldest first.
#include "server/grpc/unsent_replies.h"

namespace ferry {

void UnsentReplies::Add(Reply& reply, size_t message_bytes) {
  const TimePoint now = clock_.Now();
  MutexLock lock(mutex_);
  List(reply, message_bytes, now);
  DropPastBound(now);
}

bool UnsentReplies::TryAdd(Reply& reply, size_t message_bytes) {
  const TimePoint now = clock_.Now();
  MutexLock lock(mutex_);
  const size_t bytes = message_bytes + kBytesOfCall;
  if (message_bytes > kBytesOfCall && bytes > max_bytes_) {
    return false;  // no drop of others' makes room for it
  }
  DropPastBound(now, bytes);
  if (message_bytes > kBytesOfCall &&
      bytes_ + waiting_bytes_ + dropped_bytes_ + bytes > max_bytes_) {
    return false;
  }
  List(reply, message_bytes, now);
  return true;
}

void UnsentReplies::List(Reply& reply, size_t message_bytes, TimePoint now) {
  reply.bytes_ = message_bytes + kBytesOfCall;
  reply.since_ = now;
  reply.is_dropped_ = false;
  reply.older_ = newest_;
  reply.newer_ = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer_) = &reply;
  newest_ = &reply;
  bytes_ += reply.bytes_;
}

void UnsentReplies::AddWaiting(size_t message_bytes) {
  const TimePoint now = clock_.Now();
  MutexLock lock(mutex_);
  waiting_bytes_ += message_bytes + kBytesOfCall;
  DropPastBound(now);
}

void UnsentReplies::RemoveWaiting(size_t message_bytes) {
  MutexLock lock(mutex_);
  waiting_bytes_ -= message_bytes + kBytesOfCall;
}

void UnsentReplies::Enforce() {
  const TimePoint now = clock_.Now();
  for (size_t dropped = kMaxDropsAtOnce; dropped == kMaxDropsAtOnce;) {
    MutexLock lock(mutex_);  // and lets others in between
    dropped = DropPastBound(now);
  }
}

size_t UnsentReplies::DropPastBound(TimePoint now, size_t more) {
  size_t dropped = 0;
  while (dropped < kMaxDropsAtOnce &&
         bytes_ + waiting_bytes_ + more > max_bytes_ && oldest_ != nullptr &&
         oldest_->since_ + kMinUnsent <= now) {
    ++dropped;
    Reply& oldest = *oldest_;
    Unlink(oldest);
    oldest.is_dropped_ = true;
    dropped_bytes_ += oldest.bytes_;
    dropped_count_.fetch_add(1, std::memory_order_relaxed);
    oldest.Drop();
  }
  return dropped;
}

void UnsentReplies::Remove(Reply& reply) {
  MutexLock lock(mutex_);
  if (reply.is_dropped_) {
    dropped_bytes_ -= reply.bytes_;
  } else if (reply.bytes_ > 0) {
    Unlink(reply);
  }
  reply.bytes_ = 0;
  reply.is_dropped_ = false;
}

size_t UnsentReplies::bytes() const {
  MutexLock lock(mutex_);
  return bytes_ + waiting_bytes_ + dropped_bytes_;
}

void UnsentReplies::Unlink(Reply& reply) {
  (reply.older_ == nullptr ? oldest_ : reply.older_->newer_) = reply.newer_;
  (reply.newer_ == nullptr ? newest_ : reply.newer_->older_) = reply.older_;
  bytes_ -= reply.bytes_;
}

}  // namespace ferry
