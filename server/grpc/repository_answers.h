// AnswerModelLoad() and its like answer the model repository's RPCs.
//
// Thread safety: free functions; replies come from any thread.
#ifndef FERRY_SERVER_GRPC_REPOSITORY_ANSWERS_H_
#define FERRY_SERVER_GRPC_REPOSITORY_ANSWERS_H_

#include <grpcpp/support/status.h>

#include <functional>

#include "proto/inference.pb.h"
#include "server/control/model_control.h"

namespace ferry {

using RepositoryReply = std::function<void(const grpc::Status&)>;

// Request and response live as long as `reply`, which comes when the folders
// have been read.
void AnswerRepositoryIndex(ModelControl& control,
                           const inference::RepositoryIndexRequest& request,
                           inference::RepositoryIndexResponse& response,
                           const RepositoryReply& reply);

// `reply` comes when the model serves, or has failed to.
void AnswerModelLoad(ModelControl& control,
                     const inference::RepositoryModelLoadRequest& request,
                     const RepositoryReply& reply);

// `reply` comes when no new request finds the model.
void AnswerModelUnload(ModelControl& control,
                       const inference::RepositoryModelUnloadRequest& request,
                       const RepositoryReply& reply);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_REPOSITORY_ANSWERS_H_
