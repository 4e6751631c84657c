// TraceContext says which trace a request belongs to, as its client sent it in
// traceparent (W3C Trace Context, level 1). It is read strictly: what is
// malformed is no context. OpenCensus's grpc-trace-bin is not read: gRPC 1.51
// keeps it to itself.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_SERVER_TRACE_TRACE_CONTEXT_H_
#define FERRY_SERVER_TRACE_TRACE_CONTEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ferry {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

struct TraceContext {
  TraceId trace_id{};  // all zero: a trace of its own, not drawn yet
  SpanId span_id{};    // the client's span; all zero: there is none
  bool is_sampled = false;

  bool has_parent() const { return span_id != SpanId{}; }
};

// Reads `00-<32 hex>-<16 hex>-<2 hex>`, in lower case, of version 00, or the
// same fields of a later one; nothing where it is malformed.
std::optional<TraceContext> ParseTraceparent(absl::string_view text);

// Returns ids that nothing else has.
TraceId NewTraceId();
SpanId NewSpanId();

// Draws with that probability, from 0 to 1.
bool IsDrawn(double share);

// Both write lower-case hexadecimal digits, two for each byte.
void AppendHex(std::string& out, absl::Span<const uint8_t> id);
std::string ToHex(absl::Span<const uint8_t> id);

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_TRACE_CONTEXT_H_
