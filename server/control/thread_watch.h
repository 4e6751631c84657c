// ThreadWatch tells which of the threads that serve all clients has stopped
// turning its loop.
//
// Such a thread turns once a second also where nothing comes. One that has not
// for kStalls *stalls*, and the server is not ready: its clients are not
// served, whatever the others do. Two looks in a row have to find it late, as
// after a stop of the whole process, or of its machine, each thread is.
//
// Thread safety: thread-compatible.
#ifndef FERRY_SERVER_CONTROL_THREAD_WATCH_H_
#define FERRY_SERVER_CONTROL_THREAD_WATCH_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace ferry {

class ThreadWatch {
 public:
  struct Thread {
    std::string name;  // that no other has
    TimePoint turned;  // last
  };

  static constexpr Duration kTurn = std::chrono::seconds(1);
  static constexpr Duration kStalls = std::chrono::seconds(5);
  // A thread is late at the look before the one that finds it stalled.
  static constexpr Duration kLate = std::chrono::seconds(4);

  // timeout 0: a thread may stall for ever.
  explicit ThreadWatch(Duration timeout) : timeout_(timeout) {}

  // Returns why the process cannot go on, where a thread has stalled for
  // longer than the timeout; or nothing. Tells the log where other threads
  // stall than at the look before.
  std::optional<std::string> Look(const std::vector<Thread>& threads,
                                  TimePoint now);

  // The names of those that stalled at the last look.
  const std::vector<std::string>& stalled() const { return stalled_; }

 private:
  const Duration timeout_;
  std::vector<std::string> late_;  // at the last look
  std::vector<std::string> stalled_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_THREAD_WATCH_H_
