// Tracer chooses the requests whose traces are written, and has that done: as
// spans of OpenTelemetry to a file and to a collector, as lines to an access
// log. A request is written
//
//   to file and collector where its client says so in its context, or where it
//     sent none and is drawn by the share;
//   to the file where it fails (kMaxFailures between two writes), or is the
//     slowest between two that succeeds;
//   to the access log where it is drawn by that share.
//
// Files and collector have a TraceWriter each: a collector that hangs holds up
// no file.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_TRACE_TRACER_H_
#define FERRY_SERVER_TRACE_TRACER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "server/trace/request_trace.h"
#include "server/trace/trace_context.h"
#include "server/trace/trace_sink.h"
#include "server/trace/trace_writer.h"

namespace ferry {

// Null sinks are not there.
struct TraceSinks {
  std::unique_ptr<TraceSink> file;
  std::unique_ptr<TraceSink> collector;
  std::unique_ptr<TraceSink> access_log;
};

// Each is from 0 to 1, of all requests that could be written.
struct TraceShares {
  double spans = 0;  // of those without a context
  double lines = 0;
};

// A request whose spans are written, for a histogram that it is counted in.
struct Exemplar {
  std::string trace_id;  // in hexadecimal
  double seconds = 0;    // that it took
  double ended = 0;      // in seconds since 1970
};

class Tracer {
 public:
  static constexpr int32_t kMaxFailures = 100;
  static constexpr Duration kWarnEvery = std::chrono::minutes(1);

  struct Counts {
    // File and collector count each for itself.
    uint64_t written_spans = 0;
    uint64_t failed_spans = 0;        // that it did not take
    uint64_t dropped_requests = 0;    // as too many waited, or without memory
    uint64_t failed_lines = 0;        // that the access log did not take
    uint64_t malformed_contexts = 0;  // of clients
  };

  // A request that has begun.
  struct Begun {
    TraceContext context;
    bool is_logged = false;
    TimePoint arrival;
  };

  Tracer(TraceShares shares, TraceSinks sinks,
         Duration period = TraceWriter::kPeriod);
  ~Tracer();

  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // A request has come whose client sent traceparent so often, this the first:
  // in its client's trace, or in one of its own where it sent none, or a
  // malformed one, which counts.
  Begun Begin(absl::string_view traceparent, size_t count);

  // The request has ended. Where it is written `describe` adds to its trace all
  // that `begun` and the code do not say.
  void End(const Begun& begun, absl::StatusCode code,
           absl::FunctionRef<void(RequestTrace&)> describe);

  // Writes what has ended; returns when that is done, or at `until`.
  void Flush(TimePoint until);

  Counts counts() const;

  // Returns what an operator is to be told of losses, once in kWarnEvery at
  // most; empty: nothing. One thread.
  std::string Look(TimePoint now);

  // Returns requests of the model's version that got a result, the newest of
  // each of many durations.
  std::vector<Exemplar> ExemplarsOf(const std::string& model,
                                    const std::string& version) const;

 private:
  class Shared;

  void Keep(RequestTrace trace);

  const TraceShares shares_;
  const bool has_spans_;
  const bool has_file_;
  std::shared_ptr<Shared> shared_;          // the writers' threads' too
  std::unique_ptr<TraceWriter> files_;      // null: there is none
  std::unique_ptr<TraceWriter> collector_;  // null: there is none
  std::atomic<uint64_t> malformed_{0};
  std::atomic<uint64_t> dropped_{0};  // by no writer

  // Look() alone has these.
  TimePoint warn_at_;
  uint64_t told_lost_ = 0;  // of all kinds, by the last warning
};

}  // namespace ferry

#endif  // FERRY_SERVER_TRACE_TRACER_H_
