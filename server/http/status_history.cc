// Implements StatusHistory: takes differences of counts, and writes columns.
#include "server/http/status_history.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/printable_text.h"
#include "batcher/batch_policy.h"
#include "server/version.h"

namespace ferry {
namespace {

using Json = nlohmann::json;

constexpr double kNanosPerMillisecond = 1e6;

double Rate(uint64_t after, uint64_t before, double seconds) {
  return static_cast<double>(after - before) / seconds;
}

// Returns what was recorded in between; bounds are those of its buckets.
DurationHistogram Difference(const DurationHistogram& after,
                             const DurationHistogram& before) {
  DurationHistogram difference;
  uint64_t lowest = 0;
  uint64_t highest = 0;
  for (size_t i = 0; i < DurationHistogram::kBucketCount; ++i) {
    const uint64_t count = after.bucket(i) - before.bucket(i);
    if (count > 0) {
      const uint64_t low = DurationHistogram::LowestOf(i);
      difference.AddCounts(low, count);
      lowest = difference.count() == count ? low : lowest;
      highest = DurationHistogram::LowestOf(i + 1);
    }
  }
  if (difference.count() > 0) {
    difference.AddTotals(after.sum() - before.sum(), lowest, highest);
  }
  return difference;
}

double Milliseconds(const DurationHistogram& histogram, double quantile) {
  return histogram.count() == 0
             ? kUnknown
             : static_cast<double>(histogram.Quantile(quantile)) /
                   kNanosPerMillisecond;
}

Duration BusyOf(const SchedulerStatistics& counted) {
  Duration sum{0};
  for (const Duration busy : counted.busy) {
    sum += busy;
  }
  return sum;
}

const char* StateName(ServerState state) {
  switch (state) {
    case ServerState::kStarting:
      return "starting";
    case ServerState::kIncomplete:
      return "incomplete";
    case ServerState::kReady:
      return "ready";
    case ServerState::kDraining:
      return "draining";
    case ServerState::kLost:
      return "lost";
  }
  return "";
}

// Returns a column of the samples, oldest first.
template <typename Sample>
Json Column(const std::deque<Sample>& samples, double Sample::*member) {
  Json column = Json::array();
  for (const Sample& sample : samples) {
    column.push_back(sample.*member);
  }
  return column;
}

Json Known(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json VersionFacts(const RepositoryIndex::Entries& versions) {
  Json facts = Json::array();
  for (const IndexEntry& version : versions) {
    facts.push_back({{"name", PrintableText(version.name)},
                     {"version", version.version},
                     {"state", VersionStateName(version.state)},
                     {"reason", version.reason}});
  }
  return facts;
}

// Returns what is known of now.
Json ModelFacts(const ModelEntry& entry) {
  const ServedModel& model = entry.model();
  const Scheduler& scheduler = *model.scheduler;
  const RuntimeOptions options = scheduler.runtime_options();
  const ModelLoad load = entry.load.Load();
  return {{"name", model.name},
          {"version", entry.version},
          {"instances", scheduler.instance_count()},
          {"max_batch_size", options.max_batch_size},
          {"max_wait_ms",
           std::chrono::duration<double, std::milli>(options.max_wait).count()},
          {"policy", PolicyName(options.policy)},
          {"simulated", model.is_simulated},
          {"capacity_rows_per_second", load.capacity},
          {"load_last_minute", load.last_minute}};
}

}  // namespace

StatusHistory::ModelSample StatusHistory::SampleOf(
    const CountedVersion& version, const ModelCounts* last, double seconds) {
  const SchedulerStatistics& after = version.counts.counted;
  ModelSample sample;
  sample.load = version.use->load.Load().last_5s;
  sample.queued_requests = after.queued_requests;
  if (last == nullptr) {
    return sample;
  }
  const SchedulerStatistics& before = last->counted;
  sample.arrived_rows_per_second =
      Rate(version.counts.arrived_rows, last->arrived_rows, seconds);
  sample.requests_per_second =
      Rate(after.served.ok_requests(), before.served.ok_requests(), seconds);
  sample.errors_per_second = Rate(FailedRequests(after.served),
                                  FailedRequests(before.served), seconds);
  sample.refused_per_second =
      Rate(RefusedRequests(version.counts), RefusedRequests(*last), seconds);
  const DurationHistogram times =
      Difference(after.served.request_time, before.served.request_time);
  sample.p50_ms = Milliseconds(times, 0.5);
  sample.p99_ms = Milliseconds(times, 0.99);
  const std::chrono::duration<double> busy = BusyOf(after) - BusyOf(before);
  sample.busy =
      busy.count() / seconds / version.use->model().scheduler->instance_count();
  const BatchTotals batches = TotalsOf(after.served);
  const BatchTotals batches_before = TotalsOf(before.served);
  if (batches.batches > batches_before.batches) {
    sample.rows_per_batch =
        static_cast<double>(batches.rows - batches_before.rows) /
        static_cast<double>(batches.batches - batches_before.batches);
  }
  for (size_t i = 0; i < kCloseReasonCount; ++i) {
    sample.closed_per_second[i] =
        Rate(after.served.closed_batches[i].value(),
             before.served.closed_batches[i].value(), seconds);
  }
  return sample;
}

StatusHistory::DeviceSample StatusHistory::ReadDevice() const {
  const nvml::DeviceReadings readings =
      device_ == nullptr ? nvml::DeviceReadings()
                         : device_->readings().value_or(nvml::DeviceReadings());
  return {
      .busy = readings.utilization().value_or(kUnknown),
      .sm = readings.gpm.sm_ratio.value_or(kUnknown),
      .memory_used_bytes = readings.memory_used_bytes.value_or(kUnknown),
      .power_watts = readings.power_watts.value_or(kUnknown),
      .temperature_celsius = readings.temperature_celsius.value_or(kUnknown)};
}

void StatusHistory::Look(TimePoint now) {
  if (last_look_.has_value() && now - *last_look_ < kPeriod) {
    return;
  }
  const std::chrono::duration<double> passed = now - last_look_.value_or(now);
  std::map<Key, ModelSample> samples;
  std::map<Key, ModelCounts> counts;
  for (CountedVersion& version : models_.Count()) {
    if (!version.use) {
      continue;  // it is not served any more
    }
    const Key key = {version.name, version.version};
    const auto last = last_counts_.find(key);
    samples[key] =
        SampleOf(version, last == last_counts_.end() ? nullptr : &last->second,
                 passed.count());
    counts.emplace(key, std::move(version.counts));
  }
  last_look_ = now;
  last_counts_ = std::move(counts);
  const DeviceSample device = ReadDevice();
  MutexLock lock(mutex_);
  history_.times.push_back(now);
  history_.device.push_back(device);
  std::map<Key, std::deque<ModelSample>> models;
  for (const auto& [key, sample] : samples) {
    std::deque<ModelSample>& of_model = models[key] =
        std::move(history_.models[key]);
    of_model.resize(history_.times.size() - 1);  // it may be new
    of_model.push_back(sample);
  }
  history_.models = std::move(models);
  if (history_.times.size() > kSamples) {
    history_.times.pop_front();
    history_.device.pop_front();
    for (auto& [key, of_model] : history_.models) {
      of_model.pop_front();
    }
  }
}

std::string StatusHistory::ToJson(
    const RepositoryIndex::Entries& versions) const {
  History history;
  {
    MutexLock lock(mutex_);
    history = history_;
  }
  const TimePoint now = Clock::Steady().Now();
  Json ages = Json::array();
  for (const TimePoint time : history.times) {
    ages.push_back(std::chrono::duration<double>(now - time).count());
  }
  Json models = Json::array();
  for (const ModelUse& use : models_.UseAll()) {
    const auto found = history.models.find({use->model().name, use->version});
    if (found != history.models.end()) {  // else it came after the last sample
      Json model = ModelFacts(*use);
      model["samples"] = Columns(found->second);
      models.push_back(std::move(model));
    }
  }
  const Json status = {
      {"format", "ferry-status/1"},
      {"server_version", kVersion},
      {"state", StateName(readiness_.state())},
      {"ready", readiness_.is_ready()},
      {"period_seconds", std::chrono::duration<double>(kPeriod).count()},
      {"seconds_ago", std::move(ages)},
      {"versions", VersionFacts(versions)},
      {"models", std::move(models)},
      {"device", DeviceFacts(history.device)}};
  return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

nlohmann::json StatusHistory::Columns(const std::deque<ModelSample>& samples) {
  Json closed = Json::object();
  for (size_t i = 0; i < kCloseReasonCount; ++i) {
    Json column = Json::array();
    for (const ModelSample& sample : samples) {
      column.push_back(sample.closed_per_second[i]);
    }
    closed[CloseReasonName(static_cast<CloseReason>(i))] = std::move(column);
  }
  return {
      {"arrived_rows_per_second",
       Column(samples, &ModelSample::arrived_rows_per_second)},
      {"requests_per_second",
       Column(samples, &ModelSample::requests_per_second)},
      {"errors_per_second", Column(samples, &ModelSample::errors_per_second)},
      {"refused_per_second", Column(samples, &ModelSample::refused_per_second)},
      {"p50_ms", Column(samples, &ModelSample::p50_ms)},
      {"p99_ms", Column(samples, &ModelSample::p99_ms)},
      {"load", Column(samples, &ModelSample::load)},
      {"busy_ratio", Column(samples, &ModelSample::busy)},
      {"rows_per_batch", Column(samples, &ModelSample::rows_per_batch)},
      {"queued_requests", Column(samples, &ModelSample::queued_requests)},
      {"closed_per_second", std::move(closed)}};
}

nlohmann::json StatusHistory::DeviceFacts(
    const std::deque<DeviceSample>& samples) const {
  if (device_ == nullptr) {
    return nullptr;
  }
  const nvml::DeviceReadings readings =
      device_->readings().value_or(nvml::DeviceReadings());
  const nvml::DeviceChoice& choice = device_->choice();
  return {{"name", choice.name},
          {"uuid", choice.uuid},
          {"profile", choice.profile},
          {"memory_total_bytes", Known(readings.memory_total_bytes)},
          {"power_limit_watts", Known(readings.power_limit_watts)},
          {"samples",
           {{"busy_ratio", Column(samples, &DeviceSample::busy)},
            {"sm_ratio", Column(samples, &DeviceSample::sm)},
            {"memory_used_bytes",
             Column(samples, &DeviceSample::memory_used_bytes)},
            {"power_watts", Column(samples, &DeviceSample::power_watts)},
            {"temperature_celsius",
             Column(samples, &DeviceSample::temperature_celsius)}}}};
}

}  // namespace ferry
