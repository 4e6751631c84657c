// Implements ParseTraceEndpoint().
#include "server/trace/trace_endpoint.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace ferry {

absl::StatusOr<TraceEndpoint> ParseTraceEndpoint(const std::string& text) {
  absl::string_view rest = text;
  TraceEndpoint endpoint = {.text = text, .host = "", .port = 0};
  const bool has_scheme = absl::ConsumePrefix(&rest, "http://");
  absl::ConsumeSuffix(&rest, "/");
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != absl::string_view::npos &&
      absl::SimpleAtoi(rest.substr(colon + 1), &endpoint.port) &&
      endpoint.port >= 1 && endpoint.port <= 65535;
  absl::string_view host = rest.substr(0, colon);
  const bool is_bracketed =
      absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (!has_scheme || !has_port || host.empty() ||
      absl::StrContains(host, '/') ||
      absl::StrContains(host, ':') != is_bracketed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--otlp-endpoint: expected http://HOST:PORT, got '", text, "'"));
  }
  endpoint.host = std::string(host);
  return endpoint;
}

}  // namespace ferry
