// Implements ToGrpcStatus(): codes have the same numbers in Abseil and gRPC.
#include "server/grpc/status.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
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

constexpr int64_t kUnavailablePushbackMs = 100;

// Bytes of a message on the wire, where gRPC writes each byte that is no
// printable ASCII, and '%', as three. Clients take 8 KiB of all metadata.
constexpr size_t kMaxMessageBytes = 4096;

// Returns the text without what acts on a client's terminal, and cut.
std::string Bounded(absl::string_view text) {
  const std::string message = PrintableText(text, kMaxMessageBytes, "\n");
  size_t bytes = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    bytes += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
    if (bytes > kMaxMessageBytes) {
      while (i > 0 && (static_cast<uint8_t>(message[i]) & 0xC0) == 0x80) {
        --i;  // not within a UTF-8 character
      }
      return absl::StrCat(message.substr(0, i), "...");
    }
  }
  return message;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status, StatusCodes codes) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(ToGrpcCode(status.code(), codes),
                      Bounded(status.message()));
}

grpc::Status ToGrpcStatus(Outcome outcome) {
  if (outcome.ok()) {
    return grpc::Status::OK;
  }
  std::string text = outcome.text;
  if (outcome.reason != 0) {
    absl::StrAppend(&text, "; the server's log says why at reason=",
                    absl::Hex(outcome.reason, absl::kZeroPad8));
  }
  return grpc::Status(ToGrpcCode(outcome.code, StatusCodes::kFerry), text);
}

std::optional<int64_t> RetryPushbackMs(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE
             ? std::optional<int64_t>(kUnavailablePushbackMs)
             : std::nullopt;
}

void AddRetryPushback(std::optional<int64_t> ms, grpc::ServerContext& context) {
  if (ms.has_value()) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(*ms));
  }
}

grpc::Status CheckMetadata(const grpc::ServerContext& call, size_t at_most) {
  constexpr size_t kBytesOfField = 32;
  size_t bytes = 0;
  for (const auto& [name, value] : call.client_metadata()) {
    bytes += name.size() + value.size() + kBytesOfField;
  }
  return bytes <= at_most
             ? grpc::Status::OK
             : grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            absl::StrCat("metadata: expected at most ", at_most,
                                         " bytes of this call, got ", bytes));
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
