// TraceEndpoint is where a collector takes OTLP over HTTP.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_SERVER_TRACE_TRACE_ENDPOINT_H_
#define FERRY_SERVER_TRACE_TRACE_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"

namespace ferry {

struct TraceEndpoint {
  std::string text;  // as it was given
  std::string host;  // a name or an address
  int port = 0;
};

// Reads http://HOST:PORT, with a slash behind or none; an address of IPv6 is in
// brackets. Errors: INVALID_ARGUMENT, which names --otlp-endpoint.
absl::StatusOr<TraceEndpoint> ParseTraceEndpoint(const std::string& text);

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_TRACE_ENDPOINT_H_
