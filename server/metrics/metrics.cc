// Implements ServerMetrics. Docs, dashboards and alerts use the names here.
#include "server/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <cmath>
#include <string>
#include <utility>

#include "server/control/load_meter.h"
#include "server/log.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/process_metrics.h"
#include "server/version.h"

namespace ferry {
namespace {

constexpr double kNanosPerSecond = 1e9;

constexpr MetricName kBuildInfo = {"ferry_build_info",
                                   "Version of the server; always 1"};
constexpr MetricName kReady = {"ferry_ready",
                               "1 while the server takes requests"};
constexpr MetricName kDraining = {
    "ferry_draining", "1 from the signal to stop until the process has ended"};
constexpr MetricName kSimulated = {"ferry_simulated",
                                   "1 where the model's device is simulated"};
constexpr MetricName kPrecision = {
    "ferry_model_precision",
    "The precision that the config asks for and the one in force, with its "
    "largest error against fp32, as a share of the output's largest value; "
    "always 1"};
constexpr MetricName kOverdue = {
    "ferry_batches_overdue_total",
    "Batches that took ten times what was predicted, and over 5 s: the model "
    "is not ready until they end"};
constexpr MetricName kPrecisionChanges = {
    "ferry_precision_changes_total",
    "Changes of a model in bf16 to fp32, as a batch failed by its types"};
constexpr MetricName kRequests = {
    "ferry_requests_total", "Admitted requests that were answered, by code"};
constexpr MetricName kRows = {"ferry_rows_total",
                              "Rows of requests that got a result"};
constexpr MetricName kArrivedRows = {
    "ferry_arrived_rows_total",
    "Rows of requests that were admitted, or refused for lack of room"};
constexpr MetricName kReceivedBytes = {
    "ferry_received_bytes_total",
    "Bytes of the messages of requests that passed the codec's checks"};
constexpr MetricName kSentBytes = {"ferry_sent_bytes_total",
                                   "Bytes of the messages of replies"};
constexpr MetricName kLoad = {
    "ferry_load_ratio",
    "Rows that arrived a second in the last minute, of those that the "
    "instances carry in full batches; over 1 the queue grows. See "
    "docs/load.md"};
constexpr MetricName kShortLoad = {"ferry_load_5s_ratio",
                                   "ferry_load_ratio over the last 5 s"};
constexpr MetricName kCapacity = {
    "ferry_capacity_rows_per_second",
    "Rows a second that the instances carry in full batches, as learned: B * "
    "instances / s(B)"};
constexpr MetricName kPaddingRows = {
    "ferry_padding_rows_total",
    "Rows computed only to fill a bucket (ferry.buckets), beside the rows of "
    "ferry_batch_rows"};
constexpr MetricName kInputElements = {
    "ferry_input_elements_total",
    "Elements, as they came, of the inputs that are padded to sizes "
    "(ferry.pad), of executed batches"};
constexpr MetricName kPaddingElements = {
    "ferry_padding_elements_total",
    "Zeros that the inputs of ferry_input_elements_total were padded with, "
    "beside the elements there"};
constexpr MetricName kRefused = {
    "ferry_refused_total", "Requests that were never admitted, by reason"};
constexpr MetricName kClosed = {"ferry_batches_closed_total",
                                "Batches closed, by reason"};
constexpr MetricName kBusy = {"ferry_compute_busy_seconds_total",
                              "Time the instance has computed; no load: a "
                              "batch of one row fills it, too"};
constexpr MetricName kInstances = {"ferry_instances", "Instances of the model"};
constexpr MetricName kQueuedRequests = {"ferry_queue_requests",
                                        "Requests that are queued"};
constexpr MetricName kQueuedRows = {"ferry_queue_rows", "Rows that are queued"};
constexpr MetricName kQueuedBytes = {
    "ferry_queue_bytes", "Bytes of requests that are queued or being staged"};
constexpr MetricName kJoinedBytes = {
    "ferry_joined_output_bytes",
    "Bytes of outputs of requests in several batches, of which one still runs"};
constexpr MetricName kQueueLimit = {"ferry_queue_requests_limit",
                                    "Requests that are queued at most"};
constexpr MetricName kRunning = {"ferry_running_batches",
                                 "Batches that the backend has"};
constexpr MetricName kBatchCost = {
    "ferry_service_time_batch_seconds",
    "What a batch costs beside its rows, as learned: alpha of s(b)"};
constexpr MetricName kRowCost = {
    "ferry_service_time_row_seconds",
    "What each row of a batch costs, as learned: beta of s(b)"};
constexpr MetricName kLate = {
    "ferry_late_drops_total",
    "Of the requests that failed with DEADLINE_EXCEEDED, those that were "
    "dropped when their batch closed, because it would have ended too late."};
constexpr MetricName kLateReplies = {"ferry_late_replies_total",
                                     "Of the requests that got a result, those "
                                     "which came after they were due."};
constexpr MetricName kReruns = {
    "ferry_batch_reruns_total",
    "Runs of halves of batches that had failed, so that only the requests that "
    "fail alone do"};
constexpr MetricName kDrifts = {
    "ferry_service_time_drifts_total",
    "How often the device had changed its speed, and s(b) with it"};
constexpr MetricName kDeviceEvents = {
    "ferry_device_events_total",
    "What happened to batches on a device: forwards launched as a graph or "
    "not, batches that its memory did not hold"};
constexpr MetricName kMaxBatch = {"ferry_max_batch_size_rows",
                                  "Rows in one batch at most"};
constexpr MetricName kQueueWait = {"ferry_queue_wait_seconds",
                                   "Arrival of a request to its batch's close"};
constexpr MetricName kStage = {"ferry_stage_seconds",
                               "Close of a batch to the begin of its compute"};
constexpr MetricName kCompute = {"ferry_compute_seconds",
                                 "Compute time of a batch"};
constexpr MetricName kDeliver = {"ferry_deliver_seconds",
                                 "End of a batch's compute until a result of "
                                 "it is handed to its gRPC thread"};
constexpr MetricName kRequestTime = {
    "ferry_request_seconds",
    "Arrival of a request until its result is handed to its gRPC thread"};
constexpr MetricName kBatchRows = {"ferry_batch_rows",
                                   "Rows of executed batches"};
constexpr MetricName kUnsentBytes = {
    "ferry_unsent_reply_bytes", "Bytes of replies that clients have to read"};
constexpr MetricName kDropped = {
    "ferry_replies_dropped_total",
    "Replies dropped because their clients did not read them in time"};
constexpr MetricName kDroppedLines = {
    "ferry_log_lines_dropped_total",
    "Lines of the log that were dropped because standard error was not read"};
double One(bool condition) { return condition ? 1 : 0; }

MetricLabels With(MetricLabels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

// Whether a series is there before the first failure: of one that appears with
// a number no rate tells it.
bool IsUsual(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

void AddRequests(const MetricLabels& labels, const BatchStatistics& served,
                 MetricFamilies& out) {
  out.AddCounter(kRequests, With(labels, "code", "OK"),
                 static_cast<double>(served.ok_requests()));
  for (size_t code = 1; code < kStatusCodeCount; ++code) {
    const uint64_t failed = served.failed_requests[code].value();
    if (failed > 0 || IsUsual(static_cast<absl::StatusCode>(code))) {
      out.AddCounter(
          kRequests,
          With(labels, "code",
               absl::StatusCodeToString(static_cast<absl::StatusCode>(code))),
          static_cast<double>(failed));
    }
  }
  out.AddCounter(kLate, labels,
                 static_cast<double>(served.dropped_requests.value()));
  out.AddCounter(kLateReplies, labels,
                 static_cast<double>(served.late_requests.value()));
  out.AddCounter(kReruns, labels, static_cast<double>(served.reruns.value()));
  out.AddCounter(kRows, labels, static_cast<double>(served.ok_rows.value()));
  for (size_t reason = 0; reason < kCloseReasonCount; ++reason) {
    out.AddCounter(kClosed,
                   With(labels, "reason",
                        CloseReasonName(static_cast<CloseReason>(reason))),
                   static_cast<double>(served.closed_batches[reason].value()));
  }
}

void AddPadding(const MetricLabels& labels, const SchedulerStatistics& counted,
                MetricFamilies& out) {
  const BatchStatistics& served = counted.served;
  out.AddCounter(kPaddingRows, labels,
                 static_cast<double>(counted.padding_rows));
  out.AddCounter(kInputElements, labels,
                 static_cast<double>(served.input_elements.value()));
  out.AddCounter(kPaddingElements, labels,
                 static_cast<double>(served.padding_elements.value()));
}

void AddPrecision(const MetricLabels& labels, const ServedModel& model,
                  MetricFamilies& out) {
  if (!model.serving_precision.empty()) {
    MetricLabels all = With(labels, "asked", model.asked_precision);
    all = With(std::move(all), "serving", model.serving_precision);
    out.AddGauge(kPrecision, With(std::move(all), "max_error", model.max_error),
                 1);
  }
}

// Counts outlive the version that is served.
void AddCounts(const MetricLabels& labels, const ModelCounts& counts,
               MetricFamilies& out) {
  const SchedulerStatistics& counted = counts.counted;
  const BatchStatistics& served = counted.served;
  AddRequests(labels, served, out);
  out.AddCounter(kArrivedRows, labels,
                 static_cast<double>(counts.arrived_rows));
  out.AddCounter(kReceivedBytes, labels,
                 static_cast<double>(counts.received_bytes));
  out.AddCounter(kSentBytes, labels, static_cast<double>(counts.sent_bytes));
  AddPadding(labels, counted, out);
  for (size_t reason = 0; reason < kRefusalCount; ++reason) {
    out.AddCounter(
        kRefused,
        With(labels, "reason", RefusalName(static_cast<Refusal>(reason))),
        static_cast<double>(counted.refused[reason]));
  }
  out.AddCounter(kRefused, With(labels, "reason", "invalid"),
                 static_cast<double>(counts.invalid_requests));
  out.AddCounter(kRefused, With(labels, "reason", "client_share"),
                 static_cast<double>(counts.client_refusals));
  out.AddCounter(kRefused, With(labels, "reason", "memory"),
                 static_cast<double>(counts.memory_refusals));
  out.AddCounter(kOverdue, labels, static_cast<double>(counts.overdue_batches));
  out.AddCounter(kPrecisionChanges, labels,
                 static_cast<double>(counts.precision_changes));
  for (const DeviceCount& one : counts.device_events) {
    out.AddCounter(kDeviceEvents, With(labels, "event", one.event),
                   static_cast<double>(one.count));
  }
  for (size_t instance = 0; instance < counted.busy.size(); ++instance) {
    out.AddCounter(
        kBusy, With(labels, "model_instance", std::to_string(instance)),
        static_cast<double>(counted.busy[instance].count()) / kNanosPerSecond);
  }
  out.AddCounter(kDrifts, labels,
                 static_cast<double>(counted.service_time_drifts));
  out.AddDurations(kQueueWait, labels, served.queue_wait);
  out.AddDurations(kStage, labels, served.stage);
  out.AddDurations(kCompute, labels, served.compute);
  out.AddDurations(kDeliver, labels, served.deliver);
  out.AddDurations(kRequestTime, labels, served.request_time);
  out.AddRows(kBatchRows, labels, served.by_rows);
}

// Nothing of what is not known.
void AddLoad(const MetricLabels& labels, const ModelLoad& load,
             MetricFamilies& out) {
  const auto add = [&](const MetricName& name, double value) {
    if (std::isfinite(value)) {
      out.AddGauge(name, labels, value);
    }
  };
  add(kCapacity, load.capacity);
  add(kLoad, load.last_minute);
  add(kShortLoad, load.last_5s);
}

void AddState(const MetricLabels& labels, const ModelEntry& entry,
              const SchedulerStatistics& counted, MetricFamilies& out) {
  const Scheduler& scheduler = *entry.model().scheduler;
  const RuntimeOptions options = scheduler.runtime_options();
  out.AddGauge(kSimulated, labels, One(entry.model().is_simulated));
  AddPrecision(labels, entry.model(), out);
  out.AddGauge(kInstances, labels,
               static_cast<double>(scheduler.instance_count()));
  out.AddGauge(kQueuedRequests, labels, counted.queued_requests);
  out.AddGauge(kQueuedRows, labels, counted.queued_rows);
  out.AddGauge(kQueuedBytes, labels, static_cast<double>(counted.queued_bytes));
  out.AddGauge(kJoinedBytes, labels, static_cast<double>(counted.joined_bytes));
  out.AddGauge(kQueueLimit, labels, options.queue.requests);
  out.AddGauge(kRunning, labels, counted.running_batches);
  out.AddGauge(kBatchCost, labels,
               counted.service_time.alpha_ns / kNanosPerSecond);
  out.AddGauge(kRowCost, labels,
               counted.service_time.beta_ns / kNanosPerSecond);
  out.AddGauge(kMaxBatch, labels, options.max_batch_size);
  AddLoad(labels, entry.load.Load(), out);
}

}  // namespace

std::vector<prometheus::MetricFamily> ServerMetrics::Collect() const {
  MetricFamilies out(buckets_);
  out.AddGauge(kBuildInfo, {{"version", kVersion}}, 1);
  const ServerState state = readiness_.state();
  out.AddGauge(kReady, {}, One(readiness_.is_ready()));
  out.AddGauge(kDraining, {}, One(state == ServerState::kDraining));
  const auto of_no_model = [](const char* reason) {
    return MetricLabels{
        {"model", "_unknown"}, {"version", ""}, {"reason", reason}};
  };
  out.AddCounter(kRefused, of_no_model("malformed"),
                 static_cast<double>(models_.malformed_requests()));
  out.AddCounter(kRefused, of_no_model("unknown_model"),
                 static_cast<double>(models_.unknown_model_requests()));
  out.AddGauge(kUnsentBytes, {}, static_cast<double>(unsent_.bytes()));
  out.AddCounter(kDropped, {}, static_cast<double>(unsent_.dropped_count()));
  for (const CountedVersion& version : models_.Count()) {
    const MetricLabels labels = {{"model", version.name},
                                 {"version", version.version}};
    AddCounts(labels, version.counts, out);
    if (version.use) {
      AddState(labels, *version.use, version.counts.counted, out);
    }
  }
  out.AddCounter(kDroppedLines, {}, static_cast<double>(DroppedLogLines()));
  AddProcess(out);
  return out.Take();
}

std::string ToPrometheusText(
    const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace ferry
