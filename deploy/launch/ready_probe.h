// ReadyProbe asks the servers' /v2/health/ready over HTTP, on a thread of its
// own, and says when an answer has changed.
//
// Thread safety: thread-safe.
// Invariant: what TakeChanges() returns of a server was asked after its last
// Watch(), so never of the process before.
#ifndef FERRY_DEPLOY_LAUNCH_READY_PROBE_H_
#define FERRY_DEPLOY_LAUNCH_READY_PROBE_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace ferry::launch {

struct HttpAddress {
  std::string host;
  int port = 0;
};

// Where a server that listens on `address` is reached from this machine.
std::string LocalHost(const std::string& address);

struct ReadyChange {
  size_t server;  // index
  bool is_ready;
};

class ReadyProbe {
 public:
  explicit ReadyProbe(const std::vector<HttpAddress>& addresses);
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
    int64_t watches = 0;  // tells one process of a server from the next
  };

  void Run();
  void Ask(size_t server);

  const int event_fd_;
  Mutex mutex_;
  CondVar ended_;
  std::vector<Target> targets_ ABSL_GUARDED_BY(mutex_);
  std::vector<ReadyChange> changes_ ABSL_GUARDED_BY(mutex_);
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_READY_PROBE_H_
