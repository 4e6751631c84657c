// Implements AdminClient.
#include "bench/client/admin_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/printable_text.h"

namespace ferry::bench {
namespace {

absl::Status ToStatus(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(
        "the server has no such call of ferry.v1.Admin: start ferry-server "
        "with --admin-rpc, and a newer one where it has that flag");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      PrintableText(status.error_message()));
}

}  // namespace

AdminClient::AdminClient(const std::string& address,
                         ConnectionOptions connection, Duration limit)
    : connection_(std::move(connection)),
      limit_(limit),
      stub_(v1::Admin::NewStub(MakeChannel(address, connection_))) {}

template <typename Response, typename Method, typename Request>
absl::StatusOr<Response> AdminClient::Call(Method method,
                                           const Request& request) const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(limit_));
  AddHeaders(connection_, context);
  Response response;
  const grpc::Status status =
      (stub_.get()->*method)(&context, request, &response);
  if (!status.ok()) {
    return ToStatus(status);
  }
  return response;
}

absl::StatusOr<v1::RuntimeOptions> AdminClient::Get(
    const v1::GetRuntimeOptionsRequest& request) const {
  const auto response = Call<v1::GetRuntimeOptionsResponse>(
      &v1::Admin::Stub::GetRuntimeOptions, request);
  if (!response.ok()) {
    return response.status();
  }
  return response->runtime_options();
}

absl::StatusOr<v1::RuntimeOptions> AdminClient::Set(
    const v1::SetRuntimeOptionsRequest& request) const {
  const auto response = Call<v1::SetRuntimeOptionsResponse>(
      &v1::Admin::Stub::SetRuntimeOptions, request);
  if (!response.ok()) {
    return response.status();
  }
  return response->runtime_options();
}

absl::Status AdminClient::Drain() const {
  return Call<v1::DrainResponse>(&v1::Admin::Stub::Drain, v1::DrainRequest())
      .status();
}

}  // namespace ferry::bench
