// AdminService: ferry.v1.Admin, the knobs of the served models.
//
// Whoever reaches the port may turn them: registered with --admin-rpc only.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_ADMIN_SERVICE_H_
#define FERRY_SERVER_ADMIN_SERVICE_H_

#include "proto/admin.grpc.pb.h"
#include "server/model_table.h"
#include "server/queue_tag.h"

namespace ferry {

class AdminService final : public v1::Admin::AsyncService,
                           public QueuedService {
 public:
  // `models` outlives the service.
  explicit AdminService(ModelTable& models) : models_(models) {}

  void PostCalls(grpc::ServerCompletionQueue& queue) override;

 private:
  grpc::Status AnswerGetKnobs(const v1::GetKnobsRequest& request,
                              v1::GetKnobsResponse& response);
  grpc::Status AnswerSetKnobs(const v1::SetKnobsRequest& request,
                              v1::SetKnobsResponse& response);

  ModelTable& models_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_ADMIN_SERVICE_H_
