// Implements Tracer: what is chosen, and what each writer's thread writes.
#include "server/trace/tracer.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace ferry {
namespace {

constexpr size_t kMaxRequestsOfOneText = 512;
constexpr size_t kMaxExemplarVersions = 256;
// The newest exemplar is kept of each fourth of an octave of durations.
constexpr double kExemplarsOfAnOctave = 4;

using Pointers = std::vector<const RequestTrace*>;

// Calls `use` with a text of some of these requests at a time.
template <typename Use>
void ForEachText(const Pointers& requests, const WallTime& wall,
                 const Use& use) {
  for (size_t at = 0; at < requests.size(); at += kMaxRequestsOfOneText) {
    const absl::Span<const RequestTrace* const> some =
        absl::MakeConstSpan(requests).subspan(at, kMaxRequestsOfOneText);
    use(ToOtlp(some, wall), some);
  }
}

}  // namespace

class Tracer::Shared {
 public:
  explicit Shared(TraceSinks sinks) : sinks_(std::move(sinks)) {}

  // --- what the file has of requests that are not sampled ---
  // Whether a request that took so long is the slowest of this period so far.
  bool IsSlowest(Duration took) const {
    return took.count() > slowest_ns_.load(std::memory_order_relaxed);
  }

  // Keeps it as the slowest, unless another is slower.
  void Offer(RequestTrace trace) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Duration took = trace.end - trace.arrival;
    MutexLock lock(mutex_);
    if (IsSlowest(took)) {
      slowest_ns_.store(took.count(), std::memory_order_relaxed);
      slowest_ = std::move(trace);
    }
  }

  // Whether one more failure of this period has a place.
  bool TakeFailure() {
    return failures_left_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }

  // --- the writers' threads ---
  void WriteFiles(std::deque<RequestTrace> requests)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    TakeSlowest(requests);
    const WallTime wall;
    Pointers spans;
    std::string lines;
    size_t line_count = 0;
    for (const RequestTrace& request : requests) {
      if (request.context.is_sampled || request.is_notable) {
        spans.push_back(&request);
      }
      if (request.is_logged) {
        lines += ToAccessLine(request, wall);
        ++line_count;
      }
    }
    if (line_count > 0 && !sinks_.access_log->Write(lines)) {
      failed_lines_.fetch_add(line_count, std::memory_order_relaxed);
    }
    if (sinks_.file != nullptr) {
      ForEachText(spans, wall, [&](const OtlpText& text, auto some) {
        Count(sinks_.file->Write(text.json + "\n"), text, some, wall);
      });
    }
  }

  void WriteToCollector(const std::deque<RequestTrace>& requests) {
    Pointers spans;
    for (const RequestTrace& request : requests) {
      spans.push_back(&request);
    }
    const WallTime wall;
    // One that does not take a part of them is not asked for the rest.
    bool takes = true;
    ForEachText(spans, wall, [&](const OtlpText& text, auto some) {
      takes = takes && sinks_.collector->Write(text.json);
      Count(takes, text, some, wall);
    });
  }

  // --- any thread ---
  std::vector<Exemplar> ExemplarsOf(const std::string& model,
                                    const std::string& version) const
      ABSL_LOCKS_EXCLUDED(exemplars_mutex_) {
    std::vector<Exemplar> exemplars;
    MutexLock lock(exemplars_mutex_);
    if (const auto found = exemplars_.find({model, version});
        found != exemplars_.end()) {
      for (const auto& [step, exemplar] : found->second) {
        exemplars.push_back(exemplar);
      }
    }
    return exemplars;
  }

  Counts counts() const {
    return {.written_spans = written_.load(std::memory_order_relaxed),
            .failed_spans = failed_.load(std::memory_order_relaxed),
            .failed_lines = failed_lines_.load(std::memory_order_relaxed)};
  }

 private:
  // Begins a period.
  void TakeSlowest(std::deque<RequestTrace>& requests)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    failures_left_.store(kMaxFailures, std::memory_order_relaxed);
    MutexLock lock(mutex_);
    if (slowest_.has_value()) {
      requests.push_back(*std::exchange(slowest_, std::nullopt));
    }
    slowest_ns_.store(-1, std::memory_order_relaxed);
  }

  void Count(bool is_taken, const OtlpText& text,
             absl::Span<const RequestTrace* const> requests,
             const WallTime& wall) {
    (is_taken ? written_ : failed_)
        .fetch_add(text.spans, std::memory_order_relaxed);
    for (const RequestTrace* const request : requests) {
      if (is_taken && request->code == absl::StatusCode::kOk) {
        KeepExemplar(*request, wall);
      }
    }
  }

  void KeepExemplar(const RequestTrace& request, const WallTime& wall)
      ABSL_LOCKS_EXCLUDED(exemplars_mutex_) {
    const std::chrono::duration<double> took = request.end - request.arrival;
    const double octaves = std::log2(std::max(took.count(), 1e-9));
    const int step =
        static_cast<int>(std::floor(octaves * kExemplarsOfAnOctave));
    const std::pair key(request.model, request.version);
    MutexLock lock(exemplars_mutex_);
    if (exemplars_.size() >= kMaxExemplarVersions &&
        exemplars_.find(key) == exemplars_.end()) {
      exemplars_.clear();  // most are of versions that are gone
    }
    exemplars_[key][step] = {
        .trace_id = ToHex(request.context.trace_id),
        .seconds = took.count(),
        .ended = static_cast<double>(wall.Of(request.end)) / 1e9};
  }

  const TraceSinks sinks_;

  Mutex mutex_;
  std::optional<RequestTrace> slowest_ ABSL_GUARDED_BY(mutex_);

  // No thread that serves takes it.
  mutable Mutex exemplars_mutex_;
  // Keys are model and version, then steps of the duration.
  std::map<std::pair<std::string, std::string>, std::map<int, Exemplar>>
      exemplars_ ABSL_GUARDED_BY(exemplars_mutex_);

  std::atomic<int64_t> slowest_ns_{-1};  // that slowest_ took; -1: none
  std::atomic<int32_t> failures_left_{kMaxFailures};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> failed_lines_{0};
};

Tracer::Tracer(TraceShares shares, TraceSinks sinks, Duration period)
    : shares_(shares),
      has_spans_(sinks.file != nullptr || sinks.collector != nullptr),
      has_file_(sinks.file != nullptr) {
  const bool has_files = has_file_ || sinks.access_log != nullptr;
  const bool has_collector = sinks.collector != nullptr;
  shared_ = std::make_shared<Shared>(std::move(sinks));
  if (has_files) {
    files_ = std::make_unique<TraceWriter>(
        "ferry-trace",
        [shared = shared_](std::deque<RequestTrace> requests) {
          shared->WriteFiles(std::move(requests));
        },
        period);
  }
  if (has_collector) {
    collector_ = std::make_unique<TraceWriter>(
        "ferry-otlp",
        [shared = shared_](const std::deque<RequestTrace>& requests) {
          shared->WriteToCollector(requests);
        },
        period);
  }
}

Tracer::~Tracer() = default;

Tracer::Begun Tracer::Begin(absl::string_view traceparent, size_t count) {
  std::optional<TraceContext> sent;
  if (count == 1) {
    sent = ParseTraceparent(traceparent);
  }
  if (count > 0 && !sent.has_value()) {
    malformed_.fetch_add(1, std::memory_order_relaxed);
  }
  Begun begun = {.context = sent.value_or(TraceContext()),
                 .is_logged = IsDrawn(shares_.lines),
                 .arrival = Clock::Steady().Now()};
  begun.context.is_sampled =
      has_spans_ &&
      (sent.has_value() ? sent->is_sampled : IsDrawn(shares_.spans));
  return begun;
}

void Tracer::End(const Begun& begun, absl::StatusCode code,
                 absl::FunctionRef<void(RequestTrace&)> describe) {
  const TimePoint end = Clock::Steady().Now();
  const bool is_ok = code == absl::StatusCode::kOk;
  const bool is_sampled = begun.context.is_sampled;
  const bool is_failure =
      has_file_ && !is_sampled && !is_ok && shared_->TakeFailure();
  const bool is_slowest = has_file_ && !is_sampled && is_ok &&
                          shared_->IsSlowest(end - begun.arrival);
  if (!is_sampled && !begun.is_logged && !is_failure && !is_slowest) {
    return;
  }
  try {
    RequestTrace trace;
    trace.context = begun.context;
    if (trace.context.trace_id == TraceId{}) {
      trace.context.trace_id = NewTraceId();
    }
    trace.span_id = NewSpanId();
    trace.code = code;
    trace.arrival = begun.arrival;
    trace.end = end;
    describe(trace);
    if (is_slowest) {
      RequestTrace slowest = trace;
      slowest.is_notable = true;
      shared_->Offer(std::move(slowest));
    }
    trace.is_logged = begun.is_logged;
    trace.is_notable = is_failure;
    Keep(std::move(trace));
  } catch (const std::bad_alloc&) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Tracer::Keep(RequestTrace trace) {
  if (trace.context.is_sampled && collector_ != nullptr) {
    collector_->Keep(trace);
  }
  if (files_ != nullptr && (trace.is_logged || trace.is_notable ||
                            (trace.context.is_sampled && has_file_))) {
    files_->Keep(std::move(trace));
  }
}

void Tracer::Flush(TimePoint until) {
  for (TraceWriter* const writer : {files_.get(), collector_.get()}) {
    if (writer != nullptr) {
      writer->Flush(until);
    }
  }
}

Tracer::Counts Tracer::counts() const {
  Counts counts = shared_->counts();
  counts.malformed_contexts = malformed_.load(std::memory_order_relaxed);
  counts.dropped_requests = dropped_.load(std::memory_order_relaxed);
  for (const TraceWriter* const writer : {files_.get(), collector_.get()}) {
    counts.dropped_requests += writer == nullptr ? 0 : writer->dropped();
  }
  return counts;
}

std::string Tracer::Look(TimePoint now) {
  const Counts so_far = counts();
  const uint64_t lost =
      so_far.failed_spans + so_far.failed_lines + so_far.dropped_requests;
  if (lost == told_lost_ || now < warn_at_) {
    return "";
  }
  warn_at_ = now + kWarnEvery;
  told_lost_ = lost;
  return absl::StrCat(
      "expected its files and its collector to take what is written, got ",
      so_far.failed_spans, " spans and ", so_far.failed_lines,
      " lines refused and ", so_far.dropped_requests,
      " requests dropped since the start; look after --trace-file, "
      "--otlp-endpoint and --access-log");
}

std::vector<Exemplar> Tracer::ExemplarsOf(const std::string& model,
                                          const std::string& version) const {
  return shared_->ExemplarsOf(model, version);
}

}  // namespace ferry
