// Implements TritonMetrics().
#include "server/metrics/triton_metrics.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "server/metrics/metric_families.h"

namespace ferry {
namespace {

constexpr double kNanosPerMicrosecond = 1e3;

constexpr MetricName kSuccess = {"nv_inference_request_success",
                                 "Requests that got a result"};
constexpr MetricName kFailure = {"nv_inference_request_failure",
                                 "Requests that got an error, by reason"};
constexpr MetricName kCount = {"nv_inference_count",
                               "Rows of requests that got a result"};
constexpr MetricName kExecutions = {"nv_inference_exec_count",
                                    "Batches that got a result"};
constexpr MetricName kPending = {"nv_inference_pending_request_count",
                                 "Requests that are queued"};
constexpr MetricName kRequestTime = {
    "nv_inference_request_duration_us",
    "Sum of the times from arrival to result, in microseconds"};
constexpr MetricName kQueueTime = {
    "nv_inference_queue_duration_us",
    "Sum of the times in the queue, in microseconds"};
constexpr MetricName kInputTime = {
    "nv_inference_compute_input_duration_us",
    "Sum of the times from a batch's close to its compute, in microseconds"};
constexpr MetricName kInferTime = {
    "nv_inference_compute_infer_duration_us",
    "Sum of the compute times of requests' batches, in microseconds"};
constexpr MetricName kOutputTime = {
    "nv_inference_compute_output_duration_us",
    "Sum of the times from the end of compute to the result handed over, in "
    "microseconds"};

constexpr MetricName kUtilization = {"nv_gpu_utilization",
                                     "Time in which the device had work, 0-1"};
constexpr MetricName kTotalMemory = {"nv_gpu_memory_total_bytes",
                                     "Memory of the device"};
constexpr MetricName kUsedMemory = {"nv_gpu_memory_used_bytes",
                                    "Memory of the device that is used"};
constexpr MetricName kPower = {"nv_gpu_power_usage",
                               "Power of the whole GPU, in watts"};
constexpr MetricName kPowerLimit = {"nv_gpu_power_limit",
                                    "Power limit of the whole GPU, in watts"};
constexpr MetricName kEnergy = {
    "nv_energy_consumption",
    "Energy of the whole GPU since its driver was loaded, in joules"};

enum class Reason : uint8_t { kRejected, kCanceled, kBackend, kOther };
constexpr std::array<const char*, 4> kReasonNames = {"REJECTED", "CANCELED",
                                                     "BACKEND", "OTHER"};

// Returns it for a request that was admitted and failed.
Reason ReasonOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kCancelled:
      return Reason::kCanceled;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return Reason::kRejected;
    default:
      return Reason::kBackend;
  }
}

void AddFailures(const MetricLabels& labels, const ModelCounts& counts,
                 MetricFamilies& out) {
  std::array<uint64_t, kReasonNames.size()> failed{};
  const auto of = [&failed](Reason reason) -> uint64_t& {
    return failed[static_cast<size_t>(reason)];
  };
  of(Reason::kOther) = counts.invalid_requests;
  of(Reason::kRejected) = counts.client_refusals + counts.memory_refusals;
  for (const uint64_t refused : counts.counted.refused) {
    of(Reason::kRejected) += refused;
  }
  const auto& by_code = counts.counted.served.failed_requests;
  for (size_t code = 1; code < by_code.size(); ++code) {
    of(ReasonOf(static_cast<absl::StatusCode>(code))) += by_code[code].value();
  }
  for (size_t i = 0; i < failed.size(); ++i) {
    MetricLabels with_reason = labels;
    with_reason.push_back({"reason", kReasonNames[i]});
    out.AddCounter(kFailure, with_reason, static_cast<double>(failed[i]));
  }
}

void AddModel(const CountedVersion& version, MetricFamilies& out) {
  const MetricLabels labels = {{"model", version.name},
                               {"version", version.version}};
  const SchedulerStatistics& counted = version.counts.counted;
  const BatchStatistics& served = counted.served;
  const auto count = [&](const MetricName& name, uint64_t value) {
    out.AddCounter(name, labels, static_cast<double>(value));
  };
  const auto time = [&](const MetricName& name, uint64_t ns) {
    out.AddCounter(name, labels,
                   static_cast<double>(ns) / kNanosPerMicrosecond);
  };
  count(kSuccess, served.ok_requests());
  AddFailures(labels, version.counts, out);
  count(kCount, served.ok_rows.value());
  count(kExecutions, TotalsOf(served).batches);
  time(kRequestTime, served.request_time.sum());
  time(kQueueTime, served.queue_wait.sum());
  time(kInputTime, served.stage_ns_of_requests.value());
  time(kInferTime, served.compute_ns_of_requests.value());
  time(kOutputTime, served.deliver.sum());
  if (version.use) {
    out.AddGauge(kPending, labels, counted.queued_requests);
  }
}

void AddDevice(const DeviceMetrics& device, MetricFamilies& out) {
  const nvml::DeviceChoice& choice = device.choice();
  const nvml::DeviceReadings readings =
      device.readings().value_or(nvml::DeviceReadings());
  const MetricLabels own = {{"gpu_uuid", choice.uuid}};
  const MetricLabels gpu = {{"gpu_uuid", choice.gpu_uuid()}};
  out.AddKnownGauge(kUtilization, own, readings.utilization());
  out.AddKnownGauge(kTotalMemory, own, readings.memory_total_bytes);
  out.AddKnownGauge(kUsedMemory, own, readings.memory_used_bytes);
  out.AddKnownGauge(kPower, gpu, readings.power_watts);
  out.AddKnownGauge(kPowerLimit, gpu, readings.power_limit_watts);
  out.AddKnownCounter(kEnergy, gpu, readings.energy_joules);
}

}  // namespace

std::vector<prometheus::MetricFamily> TritonMetrics(
    const ModelTable& models, const DeviceMetrics* device) {
  MetricFamilies out(Buckets::kCommon);
  for (const CountedVersion& version : models.Count()) {
    AddModel(version, out);
  }
  if (device != nullptr) {
    AddDevice(*device, out);
  }
  return out.Take();
}

}  // namespace ferry
