// Cork: which of a thread's sends wait for others to the same connection, while
// the replies of one batch are sent.
//
// A send that waits costs one more system call a connection (the push), and
// saves the network's work and the client's wake-up for each send but the last.
// So it is worth it where clients have several requests outstanding on a
// connection; what the sends of late had in company decides (kMinCompany).
//
// Invariant: outside a burst nothing is held. Within one, at most kMaxHeld
// sends of at most kMaxBytes are. They go before a larger one, and with the
// first call of Holds() or Passed() more than kMaxHold after the first of them.
//
// Thread safety: thread-compatible; each thread has its own.
#ifndef FERRY_SERVER_CORK_H_
#define FERRY_SERVER_CORK_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "batcher/clock.h"

namespace ferry {

class Cork {
 public:
  // A send takes 2 to 5 us.
  static constexpr int kMaxHeld = 64;
  static constexpr Duration kMaxHold = std::chrono::microseconds(200);
  // Of one send: beside the copy of more there is little to save.
  static constexpr size_t kMaxBytes = size_t{16} << 10;
  // Of a window of sends so many must have gone to a connection that had one
  // held already: about where the pushes cost what is saved.
  static constexpr int kWindow = 64;
  static constexpr int kMinCompany = kWindow / 8;
  // Bursts in which nothing is held after a window without enough company.
  static constexpr int kPause = 256;

  // Bursts may lie within each other; the outermost counts.
  void Begin() {
    if (depth_++ > 0) {
      return;
    }
    if (pause_ > 0) {
      --pause_;
    } else {
      is_on_ = true;
    }
  }

  // Calls push(socket) for each connection that has something held.
  template <typename Push>
  void End(const Push& push) {
    if (--depth_ == 0 && is_on_) {
      PushAll(push);
      is_on_ = false;
    }
  }

  // Calls push(socket) for what has been held for too long.
  template <typename Push>
  void Passed(TimePoint now, const Push& push) {
    if (now > held_until_) {
      PushAll(push);
    }
  }

  // Whether Holds() may be true.
  bool is_on() const { return is_on_; }

  // Whether a send of that many bytes is to be held; then it has to be one that
  // push(socket) makes go. Calls push() for what must not be held longer.
  template <typename Push>
  bool Holds(int socket, size_t bytes, TimePoint now, const Push& push) {
    if (!is_on_) {
      return false;
    }
    Passed(now, push);
    const bool is_large = bytes > kMaxBytes;
    if (is_large || held_ == kMaxHeld) {
      PushAll(push);
    }
    if (is_large) {
      return false;
    }
    if (held_++ == 0) {
      held_until_ = now + kMaxHold;
    }
    Learn(!Has(socket));
    return true;
  }

 private:
  // Adds the socket where it is not there.
  bool Has(int socket) {
    const auto end = sockets_.begin() + socket_count_;
    if (std::find(sockets_.begin(), end, socket) != end) {
      return true;
    }
    *end = socket;
    ++socket_count_;
    return false;
  }

  void Learn(bool is_alone) {
    company_ += is_alone ? 0 : 1;
    if (++seen_ == kWindow) {
      pause_ = company_ < kMinCompany ? kPause : 0;
      seen_ = 0;
      company_ = 0;
    }
  }

  template <typename Push>
  void PushAll(const Push& push) {
    for (int i = 0; i < socket_count_; ++i) {
      push(sockets_[static_cast<size_t>(i)]);
    }
    socket_count_ = 0;
    held_ = 0;
  }

  int depth_ = 0;  // of bursts within bursts
  bool is_on_ = false;
  int pause_ = 0;                           // bursts to come in which it is off
  int held_ = 0;                            // sends
  TimePoint held_until_;                    // of the first of them
  int socket_count_ = 0;                    // of sockets_
  std::array<int, kMaxHeld> sockets_ = {};  // that have something held
  // Of the window.
  int seen_ = 0;
  int company_ = 0;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CORK_H_
