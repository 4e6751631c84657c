// The canonical codes have the same numbers in Abseil and gRPC.
#include "server/status.h"

#include "absl/strings/str_cat.h"
#include "server/client_text.h"

namespace ferry {
namespace {

static_assert(static_cast<int>(absl::StatusCode::kCancelled) ==
              grpc::StatusCode::CANCELLED);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              grpc::StatusCode::UNAUTHENTICATED);

grpc::StatusCode ToGrpcCode(absl::StatusCode code, StatusCodes codes) {
  if (code == absl::StatusCode::kResourceExhausted &&
      codes == StatusCodes::kTriton) {
    return grpc::StatusCode::UNAVAILABLE;
  }
  const int number = static_cast<int>(code);
  if (number < 0 || number > grpc::StatusCode::UNAUTHENTICATED) {
    return grpc::StatusCode::UNKNOWN;
  }
  return static_cast<grpc::StatusCode>(number);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status, StatusCodes codes) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(ToGrpcCode(status.code(), codes),
                      std::string(status.message()));
}

grpc::Status ToGrpcStatus(Outcome outcome, StatusCodes codes) {
  if (outcome.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(ToGrpcCode(outcome.code, codes), outcome.text);
}

grpc::Status WithRequestId(const grpc::Status& status, const std::string& id) {
  if (status.ok()) {
    return status;
  }
  return grpc::Status(
      status.error_code(),
      absl::StrCat("[request id: ", id.empty() ? "<id_unknown>" : Shown(id),
                   "] ", status.error_message()));
}

bool IsOverload(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted;
}

}  // namespace ferry
