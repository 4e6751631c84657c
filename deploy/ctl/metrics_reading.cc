// Implements MetricsReading: names of metrics to values, and these to samples.
#include "deploy/ctl/metrics_reading.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "bench/device/metrics_page.h"

namespace ferry::ctl {
namespace {

using plan::Signal;

constexpr char kStart[] = "process_start_time_seconds";
constexpr char kMemory[] = "ferry_device_memory_bytes";
constexpr double kMostPeriods = 2;

std::string KeyOf(const bench::MetricSample& sample) {
  std::string key;
  for (const auto& [label, value] : sample.labels) {
    absl::StrAppend(&key, label, "=", value, "\n");
  }
  return key;
}

void Take(const bench::MetricSample& sample, MetricsReading& reading) {
  if (sample.name == "ferry_arrived_rows_total") {
    reading.arrived_rows[KeyOf(sample)] = sample.value;
  } else if (sample.name == "ferry_capacity_rows_per_second") {
    reading.capacity[KeyOf(sample)] = sample.value;
  } else if (sample.name == "ferry_compute_busy_seconds_total") {
    reading.busy_s[KeyOf(sample)] = sample.value;
  } else if (sample.name == "ferry_instances") {
    reading.instances += sample.value;
  } else if (sample.name == "ferry_requests_total" ||
             sample.name == "ferry_refused_total") {
    reading.requests[KeyOf(sample)] = sample.value;
  } else if (sample.name == "ferry_gpm_sm_ratio") {
    reading.sm = sample.value;
  } else if (sample.name == "ferry_gpu_power_watts") {
    reading.power_w = sample.value;
  }
}

// Returns how much each counter grew, one that is new from 0 on; nothing where
// one fell or is gone.
std::optional<LabelledValues> Growth(const LabelledValues& from,
                                     const LabelledValues& to) {
  LabelledValues growth = to;
  for (const auto& [key, value] : from) {
    const auto found = growth.find(key);
    if (found == growth.end() || !(found->second >= value)) {
      return std::nullopt;
    }
    found->second -= value;
  }
  return growth;
}

// Returns the sum a second; nothing where there are no counters.
std::optional<double> Rate(const LabelledValues& from, const LabelledValues& to,
                           double seconds) {
  const auto growth = Growth(from, to);
  if (!growth.has_value() || growth->empty()) {
    return std::nullopt;
  }
  double sum = 0;
  for (const auto& [key, value] : *growth) {
    sum += value;
  }
  return sum / seconds;
}

std::optional<double> Load(const MetricsReading& from, const MetricsReading& to,
                           double seconds) {
  const auto growth = Growth(from.arrived_rows, to.arrived_rows);
  if (!growth.has_value() || growth->empty()) {
    return std::nullopt;
  }
  double load = 0;
  for (const auto& [model, rows] : *growth) {
    if (rows == 0) {
      continue;
    }
    const auto capacity = to.capacity.find(model);
    if (capacity == to.capacity.end() || !(capacity->second > 0)) {
      return std::nullopt;
    }
    load += rows / seconds / capacity->second;
  }
  return load;
}

// Returns the seconds between two readings of one process; nothing where they
// are no period of a recording.
std::optional<double> SecondsOf(const std::optional<MetricsReading>& from,
                                const std::optional<MetricsReading>& to,
                                double period_s) {
  if (!from.has_value() || !to.has_value() || from->start_s != to->start_s) {
    return std::nullopt;
  }
  const double seconds =
      std::chrono::duration<double>(to->at - from->at).count();
  return seconds > 0 && seconds <= kMostPeriods * period_s
             ? std::optional<double>(seconds)
             : std::nullopt;
}

void Append(const std::optional<double>& value, plan::Samples& samples) {
  samples.push_back(value.has_value() ? plan::SampleOf(*value) : std::nullopt);
}

}  // namespace

absl::StatusOr<MetricsReading> ReadMetrics(absl::string_view page,
                                           TimePoint at) {
  MetricsReading reading;
  reading.at = at;
  double memory_total = 0;
  std::optional<double> memory_used;
  const auto samples = bench::SamplesOf(page, "ferry_");
  for (const bench::MetricSample& sample : samples) {
    Take(sample, reading);
    if (sample.name == kMemory && sample.Label("kind") == "total") {
      memory_total = sample.value;
    } else if (sample.name == kMemory && sample.Label("kind") == "used") {
      memory_used = sample.value;
    }
  }
  if (samples.empty()) {
    return absl::FailedPreconditionError(
        "expected the metrics of a ferry-server, got a page without any "
        "ferry_...; is it the address of --metrics-port?");
  }
  if (memory_used.has_value() && memory_total > 0) {
    reading.memory = *memory_used / memory_total;
  }
  for (const bench::MetricSample& sample : bench::SamplesOf(page, kStart)) {
    reading.start_s = sample.value;
  }
  return reading;
}

void AppendPeriod(const std::optional<MetricsReading>& from,
                  const std::optional<MetricsReading>& to,
                  plan::Recording& recording) {
  const auto seconds = SecondsOf(from, to, recording.period_s);
  std::optional<double> load;
  std::optional<double> busy;
  std::optional<double> requests;
  if (seconds.has_value()) {
    load = Load(*from, *to, *seconds);
    busy = Rate(from->busy_s, to->busy_s, *seconds);
    busy = busy.has_value() && to->instances > 0
               ? std::optional<double>(*busy / to->instances)
               : std::nullopt;
    requests = Rate(from->requests, to->requests, *seconds);
  }
  Append(load, recording.signals[Signal::kLoad]);
  Append(busy, recording.signals[Signal::kBusy]);
  Append(to.has_value() ? to->sm : std::nullopt,
         recording.signals[Signal::kSm]);
  Append(to.has_value() ? to->memory : std::nullopt,
         recording.signals[Signal::kMemory]);
  Append(to.has_value() ? to->power_w : std::nullopt, recording.power_w);
  Append(requests, recording.requests_per_second);
  ++recording.size;
}

}  // namespace ferry::ctl
