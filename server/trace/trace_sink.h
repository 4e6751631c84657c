// TraceSink is where a Tracer's texts go: a file or a collector.
//
// Thread safety: one thread at a time.
#ifndef FERRY_SERVER_TRACE_TRACE_SINK_H_
#define FERRY_SERVER_TRACE_TRACE_SINK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/trace/trace_endpoint.h"

namespace ferry {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  // Returns whether it took all of it.
  virtual bool Write(absl::string_view text) = 0;
};

// Appends to the file, which is made where there is none; waits 2 s at most for
// a pipe that is full. `flag` is what names it in errors. Errors: UNAVAILABLE
// where it cannot be opened, as a pipe that nothing reads.
absl::StatusOr<std::unique_ptr<TraceSink>> OpenTraceFile(
    absl::string_view flag, const std::string& path);

// Posts each text to /v1/traces there. Waits 2 s at most for each connection,
// write and read, and for the name of the host as long as the resolver does.
std::unique_ptr<TraceSink> OpenCollector(const TraceEndpoint& endpoint);

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_TRACE_SINK_H_
