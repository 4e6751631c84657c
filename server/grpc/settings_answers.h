// AnswerTraceSetting() and AnswerLogSettings() tell what is in force. They
// refuse changes over the network: the command line decides.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_GRPC_SETTINGS_ANSWERS_H_
#define FERRY_SERVER_GRPC_SETTINGS_ANSWERS_H_

#include <grpcpp/support/status.h>

#include "proto/inference.pb.h"
#include "server/control/model_table.h"

namespace ferry {

// Traces are not made: the level is OFF. NOT_FOUND for a model that is not
// served.
grpc::Status AnswerTraceSetting(const ModelTable& models,
                                const inference::TraceSettingRequest& request,
                                inference::TraceSettingResponse& response);

grpc::Status AnswerLogSettings(const inference::LogSettingsRequest& request,
                               inference::LogSettingsResponse& response);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_SETTINGS_ANSWERS_H_
