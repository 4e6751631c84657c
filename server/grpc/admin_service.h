// AdminService serves ferry.v1.Admin: the runtime options of the served models,
// and the end of the server.
//
// Any client that reaches the port may ask for them: it needs --admin-rpc.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_GRPC_ADMIN_SERVICE_H_
#define FERRY_SERVER_GRPC_ADMIN_SERVICE_H_

#include <utility>

#include "proto/admin.grpc.pb.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/grpc/unary_call.h"

namespace ferry {

class AdminService final : public UnaryService<v1::Admin::AsyncService> {
 public:
  // Those referred to outlive the service.
  AdminService(ModelTable& models, Readiness& readiness, UnsentReplies& unsent,
               CallTeller tell)
      : UnaryService(unsent, std::move(tell)),
        models_(models),
        readiness_(readiness) {}

  void PostCalls(grpc::ServerCompletionQueue& queue) override;

 private:
  grpc::Status AnswerGetRuntimeOptions(
      const v1::GetRuntimeOptionsRequest& request,
      v1::GetRuntimeOptionsResponse& response);
  grpc::Status AnswerSetRuntimeOptions(
      const v1::SetRuntimeOptionsRequest& request,
      v1::SetRuntimeOptionsResponse& response);

  ModelTable& models_;
  Readiness& readiness_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_ADMIN_SERVICE_H_
