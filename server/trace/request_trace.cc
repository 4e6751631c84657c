// Implements ToOtlp() and ToAccessLine(). Both append JSON to a text: to build
// a tree of it first takes twelve times as long.
#include "server/trace/request_trace.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/version.h"

namespace ferry {
namespace {

// OTLP numbers SPAN_KIND_INTERNAL, SPAN_KIND_SERVER and STATUS_CODE_ERROR so.
constexpr int kInternal = 1;
constexpr int kServer = 2;
constexpr int kError = 2;

// Appends it as a string of JSON; what is no UTF-8 is replaced. Few texts have
// what must be escaped.
void AppendQuoted(std::string& out, absl::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (is_plain) {
    absl::StrAppend(&out, "\"", text, "\"");
  } else {
    out += nlohmann::json(std::string(text))
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void AppendComma(std::string& list) {
  if (!list.empty()) {
    list += ',';
  }
}

void AppendText(std::string& list, absl::string_view key,
                absl::string_view value) {
  AppendComma(list);
  absl::StrAppend(&list, "{\"key\":\"", key, "\",\"value\":{\"stringValue\":");
  AppendQuoted(list, value);
  list += "}}";
}

// OTLP's JSON has 64-bit integers as strings.
void AppendNumber(std::string& list, absl::string_view key, int64_t value) {
  AppendComma(list);
  absl::StrAppend(&list, "{\"key\":\"", key, "\",\"value\":{\"intValue\":\"",
                  value, "\"}}");
}

struct SpanIds {
  TraceId trace_id{};
  SpanId id{};
  SpanId parent{};  // all zero: none
};

// Spans as text: a list of JSON's without its brackets.
class SpanWriter {
 public:
  explicit SpanWriter(const WallTime& wall) : wall_(wall) {}

  // `attributes` are such a list; `rest` has further fields, each behind a
  // comma.
  void Add(const SpanIds& ids, absl::string_view name, int kind,
           TimePoint begin, TimePoint end, absl::string_view attributes,
           absl::string_view rest = "") {
    ++count_;
    AppendComma(spans_);
    spans_ += "{\"traceId\":\"";
    AppendHex(spans_, ids.trace_id);
    spans_ += "\",\"spanId\":\"";
    AppendHex(spans_, ids.id);
    if (ids.parent != SpanId{}) {
      spans_ += "\",\"parentSpanId\":\"";
      AppendHex(spans_, ids.parent);
    }
    absl::StrAppend(&spans_, "\",\"name\":\"", name, "\",\"kind\":", kind,
                    ",\"startTimeUnixNano\":\"", wall_.Of(begin));
    absl::StrAppend(&spans_, "\",\"endTimeUnixNano\":\"",
                    wall_.Of(std::max(begin, end)), "\",\"attributes\":[",
                    attributes);
    absl::StrAppend(&spans_, "]", rest, "}");
  }

  OtlpText Take() const {
    std::string resource;
    AppendText(resource, "service.name", "ferry");
    AppendText(resource, "service.version", kVersion);
    AppendNumber(resource, "process.pid", getpid());
    return {.json = absl::StrCat(
                "{\"resourceSpans\":[{\"resource\":{\"attributes\":[", resource,
                "]},\"scopeSpans\":[{\"scope\":{\"name\":\"ferry\","
                "\"version\":\"",
                kVersion, "\"},\"spans\":[", spans_, "]}]}]}"),
            .spans = count_};
  }

 private:
  const WallTime& wall_;
  std::string spans_;
  size_t count_ = 0;
};

// Whether a server is at fault, as OpenTelemetry counts it ("Semantic
// conventions for gRPC spans").
bool IsServersError(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// Returns the id of a part of that span, the same each time it is written.
SpanId PartOf(SpanId whole, uint8_t number) {
  whole.back() = static_cast<uint8_t>(whole.back() ^ number);
  return whole;
}

// Adds a request's spans.
void AddRequest(const RequestTrace& request, SpanWriter& out) {
  const SpanIds whole = {.trace_id = request.context.trace_id,
                         .id = request.span_id,
                         .parent = request.context.span_id};
  std::string attributes;
  AppendText(attributes, "ferry.model", request.model);
  AppendText(attributes, "ferry.model_version", request.version);
  if (!request.request_id.empty()) {
    AppendText(attributes, "ferry.request_id", request.request_id);
  }
  AppendNumber(attributes, "ferry.rows", request.rows);
  AppendText(attributes, "rpc.system", "grpc");
  AppendNumber(attributes, "rpc.grpc.status_code",
               static_cast<int>(request.code));
  std::string status;
  if (IsServersError(request.code)) {
    status = absl::StrCat(",\"status\":{\"code\":", kError, ",\"message\":\"",
                          absl::StatusCodeToString(request.code), "\"}");
  }
  out.Add(whole, "infer", kServer, request.arrival, request.end, attributes,
          status);
  uint8_t number = 0;
  const auto part = [&](absl::string_view name, TimePoint begin,
                        TimePoint end) {
    out.Add({.trace_id = whole.trace_id,
             .id = PartOf(whole.id, ++number),
             .parent = whole.id},
            name, kInternal, begin, end, "");
  };
  if (!request.batch.has_value()) {
    part("queue", request.arrival, request.end);
    return;
  }
  part("queue", request.arrival, request.closed);
  part("stage", request.closed, request.compute_begin);
  part("compute", request.compute_begin, request.compute_end);
  part("deliver", request.compute_end, request.end);
}

int64_t Micros(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration)
      .count();
}

}  // namespace

// The wall clock at the zero of the monotonic one.
WallTime::WallTime()
    : offset_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count() -
                 ToNanos(Clock::Steady().Now())) {}

OtlpText ToOtlp(absl::Span<const RequestTrace* const> requests,
                const WallTime& wall) {
  struct Members {
    const RequestTrace* any = nullptr;
    std::string links;
  };
  // A batch that ran again, in parts, keeps its number.
  std::map<std::tuple<absl::string_view, absl::string_view, int64_t, TimePoint>,
           Members>
      batches;
  SpanWriter out(wall);
  for (const RequestTrace* const request : requests) {
    AddRequest(*request, out);
    if (request->batch.has_value()) {
      Members& members = batches[{request->model, request->version,
                                  *request->batch, request->compute_begin}];
      members.any = request;
      AppendComma(members.links);
      members.links += "{\"traceId\":\"";
      AppendHex(members.links, request->context.trace_id);
      members.links += "\",\"spanId\":\"";
      AppendHex(members.links, request->span_id);
      members.links += "\"}";
    }
  }
  for (const auto& [key, members] : batches) {
    const RequestTrace& any = *members.any;
    std::string attributes;
    AppendText(attributes, "ferry.model", any.model);
    AppendText(attributes, "ferry.model_version", any.version);
    AppendNumber(attributes, "ferry.batch", *any.batch);
    AppendNumber(attributes, "ferry.batch_rows", any.batch_rows);
    out.Add({.trace_id = NewTraceId(), .id = NewSpanId(), .parent = {}},
            "batch", kInternal, any.closed, any.compute_end, attributes,
            absl::StrCat(",\"links\":[", members.links, "]"));
  }
  return out.Take();
}

std::string ToAccessLine(const RequestTrace& request, const WallTime& wall) {
  std::string line =
      absl::StrCat("{\"time\":\"",
                   absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                                    absl::FromUnixNanos(wall.Of(request.end)),
                                    absl::UTCTimeZone()),
                   "\"");
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>("peer", request.peer),
        {"model", request.model},
        {"version", request.version},
        {"request_id", request.request_id}}) {
    absl::StrAppend(&line, ",\"", name, "\":");
    AppendQuoted(line, text);
  }
  line += ",\"trace_id\":\"";
  AppendHex(line, request.context.trace_id);
  absl::StrAppend(&line, "\",\"rows\":", request.rows,
                  ",\"bytes\":", request.bytes);
  absl::StrAppend(&line, ",\"code\":\"", absl::StatusCodeToString(request.code),
                  "\",\"total_us\":", Micros(request.end - request.arrival));
  if (request.batch.has_value()) {
    absl::StrAppend(
        &line, ",\"queue_us\":", Micros(request.closed - request.arrival),
        ",\"stage_us\":", Micros(request.compute_begin - request.closed),
        ",\"compute_us\":",
        Micros(request.compute_end - request.compute_begin));
    absl::StrAppend(&line, ",\"batch\":", *request.batch,
                    ",\"batch_rows\":", request.batch_rows);
  }
  return line + "}\n";
}

}  // namespace ferry
