// Implements DrainServer() by watches of the server's health: a server ends
// them once it has answered what it admitted, and then a new watch finds none.
#include "deploy/ctl/drain_watch.h"

#include <grpcpp/grpcpp.h>

#include <memory>

#include "base/printable_text.h"
#include "proto/health.grpc.pb.h"

namespace ferry::ctl {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      PrintableText(status.error_message()));
}

}  // namespace

absl::StatusOr<ServerEnd> DrainServer(
    const std::string& address, const bench::ConnectionOptions& connection,
    TimePoint until, absl::FunctionRef<absl::Status()> drain,
    absl::FunctionRef<void()> tell) {
  const auto stub = Health::NewStub(bench::MakeChannel(address, connection));
  bool was_told = false;
  bool was_ready = false;  // before it was told
  bool drains = false;
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(bench::DeadlineIn(until - Clock::Steady().Now()));
    bench::AddHeaders(connection, context);
    const auto watch = stub->Watch(&context, HealthCheckRequest());
    HealthCheckResponse response;
    bool has_answered = false;
    bool is_replaced = false;
    absl::Status refusal;
    while (refusal.ok() && !is_replaced && watch->Read(&response)) {
      has_answered = true;
      const bool is_ready = response.status() == HealthCheckResponse::SERVING;
      if (!was_told) {
        was_told = true;
        was_ready = is_ready;
        refusal = drain();
      } else if (!is_ready && was_ready && !drains) {
        drains = true;
        tell();
      }
      is_replaced = is_ready && drains;  // no server that drains is ready again
    }
    if (!refusal.ok() || is_replaced) {
      context.TryCancel();
    }
    const grpc::Status status = watch->Finish();
    if (!refusal.ok()) {
      return refusal;
    }
    if (is_replaced) {
      return ServerEnd::kReplaced;
    }
    if (!was_told && status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
      return absl::UnimplementedError(
          "the server has no grpc.health.v1.Health/Watch: expected a "
          "ferry-server");
    }
    if (!was_told) {
      return ToStatus(status);
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return ServerEnd::kStillThere;
    }
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      return ToStatus(status);
    }
    if (!has_answered) {
      return drains      ? ServerEnd::kGone
             : was_ready ? ServerEnd::kLost
                         : ServerEnd::kUnseen;
    }
  }
}

}  // namespace ferry::ctl
