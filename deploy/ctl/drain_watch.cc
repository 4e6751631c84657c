// Implements AwaitServerEnd() by watches of the server's health: a server ends
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

}  // namespace

absl::StatusOr<ServerEnd> AwaitServerEnd(
    const std::string& address, const bench::ConnectionOptions& connection,
    TimePoint until, absl::FunctionRef<void()> tell) {
  const auto stub = Health::NewStub(bench::MakeChannel(address, connection));
  bool was_not_ready = false;
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(bench::DeadlineIn(until - Clock::Steady().Now()));
    bench::AddHeaders(connection, context);
    const auto watch = stub->Watch(&context, HealthCheckRequest());
    HealthCheckResponse response;
    bool has_answered = false;
    bool is_replaced = false;
    while (watch->Read(&response)) {
      has_answered = true;
      if (response.status() != HealthCheckResponse::SERVING) {
        if (!was_not_ready) {
          tell();
        }
        was_not_ready = true;
      } else if (was_not_ready) {  // no server that drains is ready again
        is_replaced = true;
        context.TryCancel();
      }
    }
    const grpc::Status status = watch->Finish();
    if (is_replaced) {
      return ServerEnd::kReplaced;
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return ServerEnd::kStillThere;
    }
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          PrintableText(status.error_message()));
    }
    if (!has_answered) {
      return ServerEnd::kGone;
    }
  }
}

}  // namespace ferry::ctl
