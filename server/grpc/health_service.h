// HealthService serves grpc.health.v1.Health on completion queues.
//
// The server as a whole (the empty name) and the inference service are serving
// where the server is ready. A model, by its name, is serving where a version
// of it is ready and the server takes requests; one that is known and not
// loaded is not serving. Other names are unknown. A check is answered by what
// is so at that moment. A watch is answered at once and after every change that
// Tell() finds; of changes that come faster than its client reads, it gets the
// last.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_GRPC_HEALTH_SERVICE_H_
#define FERRY_SERVER_GRPC_HEALTH_SERVICE_H_

#include <string>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "proto/health.grpc.pb.h"
#include "server/control/readiness.h"
#include "server/grpc/unary_call.h"

namespace ferry {

class HealthService final
    : public UnaryService<grpc::health::v1::Health::AsyncService> {
 public:
  // `service_name` is the inference service's. `unsent` outlives the calls.
  HealthService(std::string service_name, const Readiness& readiness,
                UnsentReplies& unsent);
  ~HealthService() override;

  // Tells the watches where the server's readiness has changed since the last
  // call.
  void Tell();

  // Models by name, each a service of its own, and if it is ready.
  using Models = absl::flat_hash_map<std::string, bool>;
  void SetModels(Models models);

  // Ends the watches with UNAVAILABLE, also those that come later: else the
  // server would wait for them when it is shut down.
  void EndWatches();

  void PostCalls(grpc::ServerCompletionQueue& queue) override;

 private:
  using Request = grpc::health::v1::HealthCheckRequest;
  using Response = grpc::health::v1::HealthCheckResponse;
  class Watch;

  grpc::Status AnswerCheck(const Request& request, Response& response);
  void TellWatches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdvanceWatches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Response::ServingStatus StatusOf(const std::string& service) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string service_name_;
  const Readiness& readiness_;
  Mutex mutex_;
  Models models_ ABSL_GUARDED_BY(mutex_);
  // What the watches are told. Read from readiness_ at one place, so that a
  // change between two looks is not told to some and kept from others.
  bool is_ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool takes_requests_ ABSL_GUARDED_BY(mutex_) = false;
  bool watches_end_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_set<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_HEALTH_SERVICE_H_
