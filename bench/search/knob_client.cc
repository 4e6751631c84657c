// Two blocking calls.
#include "bench/search/knob_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/client/model_client.h"

namespace ferry::bench {
namespace {

constexpr Duration kCallLimit = std::chrono::seconds(10);

absl::Status ToStatus(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(
        "the server has no ferry.v1.Admin: start ferry-server with "
        "--admin-rpc");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat("knobs: ", status.error_message()));
}

}  // namespace

KnobClient::KnobClient(const std::string& address, std::string model,
                       ConnectionOptions connection)
    : model_(std::move(model)),
      connection_(std::move(connection)),
      stub_(v1::Admin::NewStub(MakeChannel(address, connection_))) {}

absl::StatusOr<KnobSetting> KnobClient::Get() const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  AddHeaders(connection_, context);
  v1::GetKnobsRequest request;
  request.set_model_name(model_);
  v1::GetKnobsResponse response;
  const grpc::Status status = stub_->GetKnobs(&context, request, &response);
  if (!status.ok()) {
    return ToStatus(status);
  }
  const v1::Knobs& knobs = response.knobs();
  return KnobSetting{knobs.policy(), knobs.max_batch_size(),
                     static_cast<double>(knobs.max_wait_microseconds()) / 1e3};
}

absl::Status KnobClient::Set(const KnobSetting& setting) const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  AddHeaders(connection_, context);
  v1::SetKnobsRequest request;
  request.set_model_name(model_);
  v1::Knobs& knobs = *request.mutable_knobs();
  knobs.set_policy(setting.policy);
  knobs.set_max_batch_size(setting.max_batch_size);
  knobs.set_max_wait_microseconds(std::llround(setting.max_wait_ms * 1e3));
  v1::SetKnobsResponse response;
  const grpc::Status status = stub_->SetKnobs(&context, request, &response);
  return status.ok() ? absl::OkStatus() : ToStatus(status);
}

absl::Status Restore(const KnobClient& knobs, const KnobSetting& own) {
  const absl::Status first = knobs.Set(own);
  const absl::Status status = first.ok() ? first : knobs.Set(own);
  return status.ok() ? status
                     : absl::Status(
                           status.code(),
                           absl::StrCat("the server could not be turned back "
                                        "to ",
                                        Describe(own), ": ", status.message()));
}

}  // namespace ferry::bench
