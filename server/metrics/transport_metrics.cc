// Implements TransportMetrics().
#include "server/metrics/transport_metrics.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/log.h"
#include "server/metrics/metric_families.h"

namespace ferry {
namespace {

constexpr MetricName kConnections = {"ferry_connections",
                                     "Connections of gRPC that are open"};
constexpr MetricName kAccepted = {"ferry_connections_accepted_total",
                                  "Connections of gRPC that were accepted"};
constexpr MetricName kRefused = {
    "ferry_connections_refused_total",
    "Connections of gRPC that were closed at once, as connections had all of "
    "their descriptors"};
constexpr MetricName kFailures = {
    "ferry_accept_failures_total",
    "Times that no connection could be accepted, for want of descriptors or "
    "memory"};
constexpr MetricName kGrpcCpu = {
    "ferry_grpc_thread_cpu_seconds_total",
    "Processor time of a gRPC thread; near 1 a second it bounds the rate"};
constexpr MetricName kGrpcErrors = {"ferry_grpc_errors_total",
                                    "Errors that gRPC itself has logged"};
constexpr MetricName kJobSeconds = {
    "ferry_control_job_seconds",
    "For how long the load, unload or poll under way has run; 0: none is"};
constexpr MetricName kJobsWaiting = {"ferry_control_jobs_waiting",
                                     "Loads and unloads that wait for it"};

constexpr MetricName kSpans = {"ferry_trace_spans_written_total",
                               "Spans that the file or the collector took"};
constexpr MetricName kFailedSpans = {
    "ferry_trace_spans_failed_total",
    "Spans that the file or the collector did not take"};
constexpr MetricName kDroppedTraces = {
    "ferry_traces_dropped_total",
    "Requests that file or collector was not told of, as too many waited"};
constexpr MetricName kFailedLines = {
    "ferry_access_log_lines_failed_total",
    "Lines that the file of --access-log did not take"};
constexpr MetricName kBadContexts = {
    "ferry_trace_contexts_malformed_total",
    "Contexts of clients (traceparent) that were malformed and ignored"};

double ToSeconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::vector<prometheus::MetricFamily> TransportMetrics(
    const Acceptor& acceptor, const GrpcEndpoint& grpc,
    const ModelControl& control, const Tracer* tracer) {
  MetricFamilies out(Buckets::kCommon);
  const Acceptor::Counts counts = acceptor.counts();
  out.AddGauge(kConnections, {},
               static_cast<double>(acceptor.CountConnections()));
  out.AddCounter(kAccepted, {}, static_cast<double>(counts.accepted));
  out.AddCounter(kRefused, {}, static_cast<double>(counts.refused));
  out.AddCounter(kFailures, {}, static_cast<double>(counts.failures));
  const std::vector<Duration> times = grpc.CpuTimes();
  for (size_t i = 0; i < times.size(); ++i) {
    out.AddCounter(kGrpcCpu, {{"thread", absl::StrCat(i)}},
                   ToSeconds(times[i]));
  }
  out.AddCounter(kGrpcErrors, {}, static_cast<double>(GrpcErrors()));
  const ModelControl::Use use = control.use();
  out.AddGauge(kJobSeconds, {}, ToSeconds(use.running.value_or(Duration(0))));
  out.AddGauge(kJobsWaiting, {}, static_cast<double>(use.waiting));
  if (tracer != nullptr) {
    const Tracer::Counts traced = tracer->counts();
    const auto add = [&out](const MetricName& name, uint64_t value) {
      out.AddCounter(name, {}, static_cast<double>(value));
    };
    add(kSpans, traced.written_spans);
    add(kFailedSpans, traced.failed_spans);
    add(kFailedLines, traced.failed_lines);
    add(kDroppedTraces, traced.dropped_requests);
    add(kBadContexts, traced.malformed_contexts);
  }
  return out.Take();
}

}  // namespace ferry
