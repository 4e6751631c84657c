// RequestTrace says what was done with one request; ToOtlp() and ToAccessLine()
// write it as spans of OpenTelemetry and as a line of the access log.
//
// A request has a span `infer` with the spans `queue`, `stage`, `compute` and
// `deliver` in it; a batch has a span `batch` in a trace of its own, with links
// to the requests in it.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_SERVER_TRACE_REQUEST_TRACE_H_
#define FERRY_SERVER_TRACE_REQUEST_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "server/trace/trace_context.h"

namespace ferry {

struct RequestTrace {
  static constexpr size_t kMaxTextBytes = 128;  // of what its client wrote

  TraceContext context;     // its trace's id is drawn
  SpanId span_id{};         // its own
  bool is_logged = false;   // goes into the access log
  bool is_notable = false;  // goes into the file though it is not sampled
  std::string peer;         // as gRPC writes it; empty: not known
  std::string model;
  std::string version;
  std::string request_id;
  int32_t rows = 0;
  size_t bytes = 0;  // received
  absl::StatusCode code = absl::StatusCode::kOk;
  TimePoint arrival;
  TimePoint end;
  // Its last batch's number and times; no number where it ended in none.
  std::optional<int64_t> batch;
  int32_t batch_rows = 0;
  TimePoint closed;
  TimePoint compute_begin;
  TimePoint compute_end;
};

// Turns moments of Clock::Steady() into those of the wall clock.
class WallTime {
 public:
  WallTime();

  // Returns nanoseconds since 1970.
  int64_t Of(TimePoint time) const { return ToNanos(time) + offset_ns_; }

 private:
  const int64_t offset_ns_;
};

struct OtlpText {
  std::string json;  // an ExportTraceServiceRequest, in one line, without its
                     // end (opentelemetry-proto; OTLP 1.0, "JSON Protobuf")
  size_t spans = 0;
};

OtlpText ToOtlp(absl::Span<const RequestTrace* const> requests,
                const WallTime& wall);

// Returns an object of JSON in one line, with its end.
std::string ToAccessLine(const RequestTrace& request, const WallTime& wall);

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_REQUEST_TRACE_H_
