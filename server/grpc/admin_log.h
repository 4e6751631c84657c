// AdminLog tells the log which client called what only the scope admin allows,
// so many a second at most.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_GRPC_ADMIN_LOG_H_
#define FERRY_SERVER_GRPC_ADMIN_LOG_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

class AdminLog {
 public:
  // A person and their scripts make no more; without tokens any peer may.
  static constexpr int kMostPerSecond = 10;

  // `clock` outlives it.
  explicit AdminLog(const Clock& clock = Clock::Steady()) : clock_(clock) {}

  // `path`: "/ferry.v1.Admin/Drain"; `client`: its name, empty where it has
  // none; `peer`: where it calls from, as gRPC says it.
  void Tell(const std::string& path, const std::string& client,
            const std::string& peer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const Clock& clock_;
  Mutex mutex_;
  TimePoint second_end_ ABSL_GUARDED_BY(mutex_);
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;  // in this second
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_ADMIN_LOG_H_
