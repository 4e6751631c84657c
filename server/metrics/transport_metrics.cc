// Implements TransportMetrics().
#include "server/metrics/transport_metrics.h"

#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/log.h"
#include "server/metrics/metric_families.h"
#include "server/net/frame_fence.h"

namespace ferry {
namespace {

constexpr MetricName kConnections = {"ferry_connections",
                                     "Connections of gRPC that are open"};
constexpr MetricName kAccepted = {"ferry_connections_accepted_total",
                                  "Connections of gRPC that were accepted"};
constexpr MetricName kRefused = {
    "ferry_connections_refused_total",
    "Connections of gRPC that were closed at once: as many as the bounds of "
    "the flags allow were open, or as many as there are files for"};
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

constexpr MetricName kEnded = {
    "ferry_connections_ended_total",
    "Connections of gRPC that were ended, as their client sent what no client "
    "sends: floods of headers, streams, resets or control frames"};
constexpr MetricName kUnauthorized = {
    "ferry_unauthorized_total",
    "Calls and pages refused to a client that is not known, or lacks a scope"};
constexpr MetricName kReloads = {
    "ferry_trust_reloads_total",
    "Times that changed certificates or tokens were taken"};
constexpr MetricName kReloadFailures = {
    "ferry_trust_reload_failures_total",
    "Times that changed certificates or tokens were wrong, and those before "
    "stayed in force"};
constexpr MetricName kStale = {
    "ferry_trust_stale",
    "1 while the files of certificates or tokens are wrong, or HTTP does not "
    "take the certificate: those before are in force"};
constexpr MetricName kExpiry = {
    "ferry_tls_certificate_expiry_timestamp_seconds",
    "When the server's certificate is over, since the epoch"};

constexpr MetricName kClientRequests = {
    "ferry_client_requests",
    "Requests of a client of --auth-token-file that are under way"};
constexpr MetricName kClientBytes = {"ferry_client_bytes", "Bytes of these"};
constexpr MetricName kClientRefused = {
    "ferry_client_refused_total",
    "Requests that were refused as their client had enough under way: its "
    "bounds, or its share of a model that others want"};

constexpr MetricName kClientCompute = {
    "ferry_client_compute_seconds_total",
    "Time in which instances computed for a client: of each batch the part "
    "that its rows are"};

constexpr MetricName kMemoryLimit = {
    "ferry_memory_limit_bytes",
    "Memory that the machine has, or the control group allows"};
constexpr MetricName kMemoryUsed = {
    "ferry_memory_used_bytes",
    "What the process uses of it that the system cannot take back"};

constexpr MetricName kRegions = {
    "ferry_shared_memory_regions",
    "Regions of shared memory that are registered, or that requests still use"};
constexpr MetricName kRegionBytes = {"ferry_shared_memory_bytes",
                                     "Bytes of these"};

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

void AddConnections(const std::vector<std::unique_ptr<Acceptor>>& acceptors,
                    MetricFamilies& out) {
  size_t open = 0;
  std::set<std::string> names;
  Acceptor::Counts counts;
  for (const auto& acceptor : acceptors) {
    const Acceptor::Counts of_port = acceptor->counts();
    if (names.insert(acceptor->name()).second) {
      open += acceptor->CountConnections();
    }
    counts.accepted += of_port.accepted;
    counts.not_taken += of_port.not_taken;
    counts.no_file += of_port.no_file;
    counts.failures += of_port.failures;
  }
  out.AddGauge(kConnections, {}, static_cast<double>(open));
  out.AddCounter(kAccepted, {}, static_cast<double>(counts.accepted));
  out.AddCounter(kRefused, {{"reason", "bounds"}},
                 static_cast<double>(counts.not_taken));
  out.AddCounter(kRefused, {{"reason", "files"}},
                 static_cast<double>(counts.no_file));
  out.AddCounter(kFailures, {}, static_cast<double>(counts.failures));
}

void AddTrust(const Gatekeeper::Counts& trust, MetricFamilies& out) {
  const auto add = [&out](const MetricName& name, MetricLabels labels,
                          uint64_t value) {
    out.AddCounter(name, std::move(labels), static_cast<double>(value));
  };
  const FenceCounts ended = CountFenced();
  for (size_t i = 0; i < ended.size(); ++i) {
    add(kEnded, {{"reason", NameOf(static_cast<FrameFlood>(i))}}, ended[i]);
  }
  add(kUnauthorized, {{"reason", "unauthenticated"}},
      trust.refused.unauthenticated);
  add(kUnauthorized, {{"reason", "permission_denied"}}, trust.refused.denied);
  add(kReloads, {}, trust.reloads);
  add(kReloadFailures, {}, trust.failures);
  out.AddGauge(kStale, {}, trust.is_stale ? 1 : 0);
  if (trust.expiry.has_value()) {
    out.AddGauge(kExpiry, {},
                 static_cast<double>(absl::ToUnixSeconds(*trust.expiry)));
  }
}

void AddClients(const std::vector<ClientShares::Counts>& clients,
                MetricFamilies& out) {
  for (const ClientShares::Counts& one : clients) {
    const MetricLabels client = {{"client", one.client}};
    out.AddGauge(kClientRequests, client, static_cast<double>(one.requests));
    out.AddGauge(kClientBytes, client, static_cast<double>(one.bytes));
    for (size_t i = 0; i < one.refused.size(); ++i) {
      MetricLabels labels = client;
      labels.push_back({"reason", NameOf(static_cast<ClientRefusal>(i))});
      out.AddCounter(kClientRefused, std::move(labels),
                     static_cast<double>(one.refused[i]));
    }
    for (const auto& [model, taken] : one.computed) {
      MetricLabels labels = client;
      labels.push_back({"model", model});
      out.AddCounter(kClientCompute, std::move(labels), ToSeconds(taken));
    }
  }
}

}  // namespace

std::vector<prometheus::MetricFamily> TransportMetrics(
    const std::vector<std::unique_ptr<Acceptor>>& acceptors,
    const Gatekeeper& keeper, const GrpcEndpoint::Admission& admission,
    const GrpcEndpoint& grpc, const ModelControl& control,
    const Tracer* tracer) {
  MetricFamilies out(Buckets::kCommon);
  AddConnections(acceptors, out);
  const std::vector<Duration> times = grpc.CpuTimes();
  for (size_t i = 0; i < times.size(); ++i) {
    out.AddCounter(kGrpcCpu, {{"thread", absl::StrCat(i)}},
                   ToSeconds(times[i]));
  }
  out.AddCounter(kGrpcErrors, {}, static_cast<double>(GrpcErrors()));
  const ModelControl::Use use = control.use();
  out.AddGauge(kJobSeconds, {}, ToSeconds(use.running.value_or(Duration(0))));
  out.AddGauge(kJobsWaiting, {}, static_cast<double>(use.waiting));
  AddTrust(keeper.counts(), out);
  AddClients(admission.shares.Count(), out);
  out.AddGauge(kMemoryLimit, {}, static_cast<double>(admission.memory.limit()));
  out.AddGauge(kMemoryUsed, {}, static_cast<double>(admission.memory.used()));
  if (admission.regions != nullptr) {
    const SharedRegions::Counts shared = admission.regions->counts();
    out.AddGauge(kRegions, {}, static_cast<double>(shared.regions));
    out.AddGauge(kRegionBytes, {}, static_cast<double>(shared.bytes));
  }
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
