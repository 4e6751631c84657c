// Implements RuntimeOptionsClient: two blocking calls.
#include "bench/search/runtime_options_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
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
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      absl::StrCat("runtime options: ", PrintableText(status.error_message())));
}

}  // namespace

RuntimeOptionsClient::RuntimeOptionsClient(const std::string& address,
                                           std::string model,
                                           ConnectionOptions connection)
    : model_(std::move(model)),
      connection_(std::move(connection)),
      stub_(v1::Admin::NewStub(MakeChannel(address, connection_))) {}

absl::StatusOr<RuntimeSetting> RuntimeOptionsClient::Get() const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  AddHeaders(connection_, context);
  v1::GetRuntimeOptionsRequest request;
  request.set_model_name(model_);
  v1::GetRuntimeOptionsResponse response;
  const grpc::Status status =
      stub_->GetRuntimeOptions(&context, request, &response);
  if (!status.ok()) {
    return ToStatus(status);
  }
  const v1::RuntimeOptions& runtime_options = response.runtime_options();
  return RuntimeSetting{
      runtime_options.policy(), runtime_options.max_batch_size(),
      static_cast<double>(runtime_options.max_wait_microseconds()) / 1e3};
}

absl::Status RuntimeOptionsClient::Set(const RuntimeSetting& setting) const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  AddHeaders(connection_, context);
  v1::SetRuntimeOptionsRequest request;
  request.set_model_name(model_);
  v1::RuntimeOptions& runtime_options = *request.mutable_runtime_options();
  runtime_options.set_policy(setting.policy);
  runtime_options.set_max_batch_size(setting.max_batch_size);
  runtime_options.set_max_wait_microseconds(
      std::llround(setting.max_wait_ms * 1e3));
  v1::SetRuntimeOptionsResponse response;
  const grpc::Status status =
      stub_->SetRuntimeOptions(&context, request, &response);
  return status.ok() ? absl::OkStatus() : ToStatus(status);
}

absl::Status Restore(const RuntimeOptionsClient& runtime_options,
                     const RuntimeSetting& own) {
  const absl::Status first = runtime_options.Set(own);
  const absl::Status status = first.ok() ? first : runtime_options.Set(own);
  return status.ok() ? status
                     : absl::Status(
                           status.code(),
                           absl::StrCat("the server could not be turned back "
                                        "to ",
                                        Describe(own), ": ", status.message()));
}

}  // namespace ferry::bench
