// StopWish tells the wish to stop from its echo and from a second one.
//
// A terminal that is closed sends SIGHUP by its shell and by the kernel, and
// timeout sends its signal to the process and to its group: neither means more
// than its first signal.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BASE_STOP_WISH_H_
#define FERRY_BASE_STOP_WISH_H_

#include <chrono>
#include <csignal>
#include <optional>

#include "base/clock.h"

namespace ferry {

class StopWish {
 public:
  enum class Kind {
    kFirst,   // stop in good order
    kEcho,    // the first once more: to be ignored
    kSecond,  // end at once
  };

  // Within this the same signal is the same wish; SIGHUP is at any time.
  static constexpr Duration kEchoTime = std::chrono::milliseconds(100);

  // Takes a signal that came at `now`.
  Kind Take(int number, TimePoint now) {
    if (!first_.has_value()) {
      first_ = number;
      first_at_ = now;
      return Kind::kFirst;
    }
    const bool is_echo =
        number == SIGHUP || (number == *first_ && now - first_at_ < kEchoTime);
    return is_echo ? Kind::kEcho : Kind::kSecond;
  }

  // The first signal, once there was one.
  const std::optional<int>& first() const { return first_; }

 private:
  std::optional<int> first_;
  TimePoint first_at_;
};

}  // namespace ferry

#endif  // FERRY_BASE_STOP_WISH_H_
