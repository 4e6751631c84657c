// ReadyProbe asks the servers' /v2/health/ready over HTTP, each on a thread of
// its own, and says when an answer has changed, and when a server hangs.
//
// A server hangs that has answered and then leaves questions without an answer,
// each until its time-out, or whose /v2/health/live says that it is not live,
// for as long as is given, from the first of these on. One that refuses
// connections is not there yet, or ends.
//
// Thread safety: thread-safe.
// Invariants:
// 1. What TakeChanges() returns of a server was asked after its last Watch(),
//    so never of the process before.
// 2. A server that does not answer delays no question to another.
#ifndef FERRY_DEPLOY_LAUNCH_READY_PROBE_H_
#define FERRY_DEPLOY_LAUNCH_READY_PROBE_H_

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry::launch {

struct HttpAddress {
  std::string host;
  int port = 0;
  bool has_tls = false;
};

// Where a server that listens on `address` is reached from this machine. `::`
// listens on IPv4 as well, and alone where the machine has no IPv6.
std::string LocalHost(const std::string& address);

struct ReadyChange {
  enum class To { kReady, kNotReady, kHung };

  size_t server;  // index
  To to;
};

// Measures how long a server has left questions without a good answer.
class Silence {
 public:
  // `limit`: after which a server hangs, 0: none does.
  explicit Silence(Duration limit) : limit_(limit) {}

  void Answered() { *this = Silence(limit_); }

  // A question that was asked at `asked` timed out, or was answered by "not
  // live". Returns true once: when two or more were, the first the limit ago.
  bool Missed(TimePoint asked, TimePoint now);

 private:
  Duration limit_;
  TimePoint since_ = kNever;  // the first question that was missed
  bool is_told_ = false;
};

class ReadyProbe {
 public:
  // How long a question waits for its answer.
  static constexpr Duration kTimeout = std::chrono::seconds(1);

  // `hang_timeout`: after which a server hangs, 0: none does.
  ReadyProbe(const std::vector<HttpAddress>& addresses, Duration hang_timeout);
  ~ReadyProbe();

  // From now on the server is asked; at first it is not ready.
  void Watch(size_t server);
  void Unwatch(size_t server);

  // Can be read when there are changes; for poll().
  int event_fd() const { return event_fd_; }
  std::vector<ReadyChange> TakeChanges();

 private:
  struct Target {
    HttpAddress address;
    bool is_watched = false;
    bool is_ready = false;
    bool has_answered = false;
    Silence silence{Duration(0)};
    int64_t watches = 0;  // tells one process of a server from the next
  };

  void Run(size_t server);
  void Ask(size_t server);
  void Tell(const ReadyChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int event_fd_;
  Mutex mutex_;
  CondVar ended_;
  std::vector<Target> targets_ ABSL_GUARDED_BY(mutex_);
  std::vector<ReadyChange> changes_ ABSL_GUARDED_BY(mutex_);
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // [server]
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_READY_PROBE_H_
