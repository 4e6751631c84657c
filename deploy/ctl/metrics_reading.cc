// Implements MetricsReading: names of metrics to values, and these to samples.
#include "deploy/ctl/metrics_reading.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bench/device/metrics_page.h"

namespace ferry::ctl {
namespace {

using plan::Signal;

constexpr char kStart[] = "process_start_time_seconds";
constexpr char kArrived[] = "ferry_arrived_rows_total";
constexpr char kCapacity[] = "ferry_capacity_rows_per_second";
constexpr char kBusy[] = "ferry_compute_busy_seconds_total";
constexpr char kInstances[] = "ferry_instances";
constexpr char kRequests[] = "ferry_requests_total";
constexpr char kRefused[] = "ferry_refused_total";
constexpr char kRequestSeconds[] = "ferry_request_seconds_sum";
constexpr char kBatchRows[] = "ferry_batch_rows_sum";
constexpr char kBatches[] = "ferry_batch_rows_count";
constexpr char kMaxBatch[] = "ferry_max_batch_size_rows";
constexpr char kStageSeconds[] = "ferry_stage_seconds_sum";
constexpr char kComputeSeconds[] = "ferry_compute_seconds_sum";
constexpr char kRows[] = "ferry_rows_total";
constexpr char kPaddingRows[] = "ferry_padding_rows_total";
constexpr char kElements[] = "ferry_input_elements_total";
constexpr char kPaddingElements[] = "ferry_padding_elements_total";
constexpr char kMemory[] = "ferry_device_memory_bytes";
constexpr char kPcie[] = "ferry_gpm_pcie_bytes_per_second";
constexpr char kSm[] = "ferry_gpm_sm_ratio";
constexpr char kDram[] = "ferry_gpm_dram_ratio";
constexpr char kPower[] = "ferry_gpu_power_watts";
constexpr const char* kRead[] = {kStart,
                                 kArrived,
                                 kCapacity,
                                 kBusy,
                                 kInstances,
                                 kRequests,
                                 kRefused,
                                 kRequestSeconds,
                                 kBatchRows,
                                 kBatches,
                                 kMaxBatch,
                                 kStageSeconds,
                                 kComputeSeconds,
                                 kRows,
                                 kPaddingRows,
                                 kElements,
                                 kPaddingElements,
                                 kMemory,
                                 kPcie,
                                 kSm,
                                 kDram,
                                 kPower};
constexpr double kMostPeriods = 5.5;  // five, and a page that is late

using Value = std::optional<double>;

std::string KeyOf(const bench::MetricSample& sample) {
  std::string key;
  for (const auto& [label, value] : sample.labels) {
    absl::StrAppend(&key, label, "=", value, "\n");
  }
  return key;
}

const LabelledValues& ValuesOf(const MetricsReading& reading,
                               const std::string& name) {
  static const LabelledValues none;
  const auto found = reading.values.find(name);
  return found == reading.values.end() ? none : found->second;
}

// Returns the sum of the values whose labels have that one; nothing without
// any.
Value Sum(const LabelledValues& values, const std::string& label = "") {
  Value sum;
  for (const auto& [key, value] : values) {
    if (absl::StrContains(key, label)) {
      sum = sum.value_or(0) + value;
    }
  }
  return sum;
}

Value Sum(const std::optional<MetricsReading>& reading, const std::string& name,
          const std::string& label = "") {
  return reading.has_value() ? Sum(ValuesOf(*reading, name), label) : Value();
}

// Returns part / whole; nothing where one is not known or the whole is 0.
Value Share(const Value& part, const Value& whole) {
  return part.has_value() && whole.has_value() && *whole > 0
             ? Value(*part / *whole)
             : Value();
}

// Two pages of one process, and the time between them.
class Period {
 public:
  Period(const MetricsReading& from, const MetricsReading& to, double seconds)
      : from_(from), to_(to), seconds_(seconds) {}

  Value Load() const {
    const auto growth = Growth(kArrived);
    if (!growth.has_value() || growth->empty()) {
      return std::nullopt;
    }
    const LabelledValues& capacities = ValuesOf(to_, kCapacity);
    double load = 0;
    for (const auto& [model, rows] : *growth) {
      if (rows == 0) {
        continue;
      }
      const auto capacity = capacities.find(model);
      if (capacity == capacities.end() || !(capacity->second > 0)) {
        return std::nullopt;
      }
      load += rows / seconds_ / capacity->second;
    }
    return load;
  }

  Value Busy() const {
    return Share(Rate(Grown(kBusy)), Sum(ValuesOf(to_, kInstances)));
  }

  Value Requests() const { return Rate(Asked()); }

  Value RequestsUnderWay() const { return Rate(Grown(kRequestSeconds)); }

  Value BatchFill() const {
    const auto batches = Growth(kBatches);
    const LabelledValues& most = ValuesOf(to_, kMaxBatch);
    double room = 0;
    for (const auto& [model, count] : batches.value_or(LabelledValues())) {
      const auto rows = most.find(model);
      room += rows == most.end() ? 0 : count * rows->second;
    }
    return Share(Grown(kBatchRows), room);
  }

  Value Stage() const {
    const Value stage = Grown(kStageSeconds);
    return Share(stage, Both(stage, Grown(kComputeSeconds)));
  }

  Value Padding() const {
    const Value rows = Grown(kPaddingRows);
    const Value of_rows = Share(rows, Both(rows, Grown(kRows)));
    if (!of_rows.has_value()) {
      return std::nullopt;
    }
    const Value elements = Grown(kPaddingElements);
    // Few models pad elements.
    const double of_elements =
        Share(elements, Both(elements, Grown(kElements))).value_or(0);
    return 1 - (1 - *of_rows) * (1 - of_elements);
  }

  Value Refused() const {
    const auto growth = Growth(kRefused);
    if (!growth.has_value() || growth->empty()) {
      return std::nullopt;
    }
    const double for_room = Sum(*growth, "reason=queue_").value_or(0) +
                            Sum(*growth, "reason=client_share\n").value_or(0);
    return Share(for_room, Asked());
  }

 private:
  // Returns how much each counter grew, one that is new from 0 on; nothing
  // where one fell or is gone.
  std::optional<LabelledValues> Growth(const std::string& name) const {
    LabelledValues growth = ValuesOf(to_, name);
    for (const auto& [key, value] : ValuesOf(from_, name)) {
      const auto found = growth.find(key);
      if (found == growth.end() || !(found->second >= value)) {
        return std::nullopt;
      }
      found->second -= value;
    }
    return growth;
  }

  Value Grown(const std::string& name) const {
    const auto growth = Growth(name);
    return growth.has_value() ? Sum(*growth) : Value();
  }

  static Value Both(const Value& one, const Value& other) {
    return one.has_value() && other.has_value() ? Value(*one + *other)
                                                : Value();
  }

  // Requests that were answered or refused.
  Value Asked() const {
    const auto answered = Growth(kRequests);
    const auto refused = Growth(kRefused);
    if (!answered.has_value() || !refused.has_value() ||
        (answered->empty() && refused->empty())) {
      return std::nullopt;
    }
    return Sum(*answered).value_or(0) + Sum(*refused).value_or(0);
  }

  Value Rate(const Value& grown) const {
    return grown.has_value() ? Value(*grown / seconds_) : Value();
  }

  const MetricsReading& from_;
  const MetricsReading& to_;
  const double seconds_;
};

// Returns the seconds between two readings of one process; nothing where they
// are no period of a recording.
Value SecondsOf(const std::optional<MetricsReading>& from,
                const std::optional<MetricsReading>& to, double period_s) {
  if (!from.has_value() || !to.has_value() ||
      ValuesOf(*from, kStart) != ValuesOf(*to, kStart)) {
    return std::nullopt;
  }
  const double seconds =
      std::chrono::duration<double>(to->at - from->at).count();
  return seconds > 0 && seconds <= kMostPeriods * period_s ? Value(seconds)
                                                           : Value();
}

void Append(const Value& value, plan::Samples& samples) {
  samples.push_back(value.has_value() ? plan::SampleOf(*value) : std::nullopt);
}

}  // namespace

absl::Status CheckPage(absl::string_view page) {
  if (bench::SamplesOf(page, "ferry_").empty()) {
    return absl::FailedPreconditionError(
        "expected the metrics of a ferry-server, got a page without any "
        "ferry_...; is it the address of --metrics-port?");
  }
  return absl::OkStatus();
}

absl::StatusOr<MetricsReading> ReadMetrics(absl::string_view page,
                                           TimePoint at) {
  MetricsReading reading;
  reading.at = at;
  for (const char* name : kRead) {
    for (const bench::MetricSample& sample : bench::SamplesOf(page, name)) {
      if (sample.name == name) {
        reading.values[name][KeyOf(sample)] = sample.value;
      }
    }
  }
  if (absl::Status status = CheckPage(page); !status.ok()) {
    return status;
  }
  return reading;
}

PageRecorder::PageRecorder(std::optional<MetricsReading> first, double period_s,
                           const DeviceLink& link)
    : link_(link), last_(std::move(first)) {
  recording_.period_s = period_s;
}

void PageRecorder::Add(std::optional<MetricsReading> page) {
  const Value seconds = SecondsOf(last_, page, recording_.period_s);
  const auto append = [&](Value (Period::*value)() const,
                          plan::Samples& samples) {
    Append(seconds.has_value() ? (Period(*last_, *page, *seconds).*value)()
                               : Value(),
           samples);
    std::fill(samples.end() - 1 - static_cast<std::ptrdiff_t>(missed_),
              samples.end(), samples.back());
  };
  auto& signals = recording_.signals;
  append(&Period::Load, signals[Signal::kLoad]);
  append(&Period::Busy, signals[Signal::kBusy]);
  append(&Period::BatchFill, signals[Signal::kBatchFill]);
  append(&Period::Stage, signals[Signal::kStage]);
  append(&Period::Padding, signals[Signal::kPadding]);
  append(&Period::Refused, signals[Signal::kRefused]);
  append(&Period::Requests, recording_.requests_per_second);
  append(&Period::RequestsUnderWay, recording_.requests_under_way);
  Append(Sum(page, kSm), signals[Signal::kSm]);
  Append(Sum(page, kDram), signals[Signal::kDram]);
  Append(Share(Sum(page, kMemory, "kind=used\n"),
               Sum(page, kMemory, "kind=total\n")),
         signals[Signal::kMemory]);
  Append(
      Share(Sum(page, kPcie, "direction=received\n"), link_.bytes_per_second),
      signals[Signal::kPcie]);
  Append(Sum(page, kPower), recording_.power_w);
  ++recording_.size;
  if (page.has_value()) {
    last_ = std::move(page);
    missed_ = 0;
  } else {
    ++missed_;
  }
}

}  // namespace ferry::ctl
