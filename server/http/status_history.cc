// Implements StatusHistory: takes differences of counts, and writes columns.
#include "server/http/status_history.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

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

uint64_t SumOf(const ModelCounts& counts) {
  uint64_t sum = counts.invalid_requests;
  for (const uint64_t refused : counts.counted.refused) {
    sum += refused;
  }
  return sum;
}

uint64_t FailedOf(const BatchStatistics& served) {
  uint64_t sum = 0;
  for (const Counter& failed : served.failed_requests) {
    sum += failed.value();
  }
  return sum;
}

std::pair<uint64_t, uint64_t> BatchesAndRows(const BatchStatistics& served) {
  uint64_t batches = 0;
  uint64_t rows = 0;
  for (size_t size = 0; size < served.by_rows.size(); ++size) {
    const uint64_t of_size = served.by_rows[size].batches.value();
    batches += of_size;
    rows += of_size * size;
  }
  return {batches, rows};
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

// What is known of now.
Json ModelFacts(const ModelEntry& entry) {
  const ServedModel& model = entry.model();
  const Scheduler& scheduler = *model.scheduler;
  const RuntimeOptions options = scheduler.runtime_options();
  const ModelLoad load = entry.load.Load();
  return {{"instances", scheduler.instance_count()},
          {"max_batch_size", options.max_batch_size},
          {"max_wait_ms",
           std::chrono::duration<double, std::milli>(options.max_wait).count()},
          {"policy", PolicyName(options.policy)},
          {"simulated", model.is_simulated},
          {"capacity_rows_per_second", load.capacity},
          {"load_last_minute", load.last_minute}};
}

double EpochSeconds(TimePoint time) {
  const auto wall =
      std::chrono::system_clock::now() - (Clock::Steady().Now() - time);
  return std::chrono::duration<double>(wall.time_since_epoch()).count();
}

}  // namespace

StatusHistory::ModelSample StatusHistory::SampleOf(
    const CountedVersion& version, const std::optional<ModelCounts>& last,
    double seconds) {
  const SchedulerStatistics& after = version.counts.counted;
  ModelSample sample;
  sample.load = version.use->load.Load().last_5s;
  sample.queued_requests = after.queued_requests;
  if (!last.has_value()) {
    return sample;
  }
  const SchedulerStatistics& before = last->counted;
  sample.arrived_rows_per_second =
      Rate(version.counts.arrived_rows, last->arrived_rows, seconds);
  sample.requests_per_second =
      Rate(after.served.ok_requests(), before.served.ok_requests(), seconds);
  sample.errors_per_second =
      Rate(FailedOf(after.served), FailedOf(before.served), seconds);
  sample.refused_per_second =
      Rate(SumOf(version.counts), SumOf(*last), seconds);
  const DurationHistogram times =
      Difference(after.served.request_time, before.served.request_time);
  sample.p50_ms = Milliseconds(times, 0.5);
  sample.p99_ms = Milliseconds(times, 0.99);
  if (!after.busy.empty()) {
    const std::chrono::duration<double> busy = BusyOf(after) - BusyOf(before);
    sample.busy =
        busy.count() / seconds / static_cast<double>(after.busy.size());
  }
  const auto [batches, rows] = BatchesAndRows(after.served);
  const auto [batches_before, rows_before] = BatchesAndRows(before.served);
  if (batches > batches_before) {
    sample.rows_per_batch = static_cast<double>(rows - rows_before) /
                            static_cast<double>(batches - batches_before);
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
      .busy = readings.busy_ratio.has_value()
                  ? *readings.busy_ratio
                  : readings.gpm.graphics_ratio.value_or(kUnknown),
      .sm = readings.gpm.sm_ratio.value_or(kUnknown),
      .memory_used_bytes = readings.memory_used_bytes.value_or(kUnknown),
      .power_watts = readings.power_watts.value_or(kUnknown),
      .temperature_celsius = readings.temperature_celsius.value_or(kUnknown)};
}

void StatusHistory::Look(TimePoint now) {
  MutexLock lock(mutex_);
  if (!times_.empty() && now - times_.back() < kPeriod) {
    return;
  }
  const std::chrono::duration<double> passed =
      times_.empty() ? Duration(0) : now - times_.back();
  const size_t dropped = times_.size() == kSamples ? 1 : 0;
  times_.push_back(now);
  times_.erase(times_.begin(), times_.begin() + dropped);
  std::map<Key, Model> tracks;
  for (CountedVersion& version : models_.Count()) {
    if (!version.use) {
      continue;  // it is not served any more
    }
    const Key key = {version.name, version.version};
    Model& model = tracks[key] = std::move(tracks_[key]);
    model.samples.resize(times_.size() - 1 + dropped);
    model.samples.push_back(SampleOf(version, model.last, passed.count()));
    model.samples.erase(model.samples.begin(), model.samples.begin() + dropped);
    model.last = std::move(version.counts);
  }
  tracks_ = std::move(tracks);
  device_samples_.push_back(ReadDevice());
  device_samples_.erase(device_samples_.begin(),
                        device_samples_.begin() + dropped);
}

std::string StatusHistory::ToJson() const {
  Json models = Json::array();
  Json times = Json::array();
  MutexLock lock(mutex_);
  for (const TimePoint time : times_) {
    times.push_back(EpochSeconds(time));
  }
  for (const ModelUse& use : models_.UseAll()) {
    Json model = ModelFacts(*use);
    model["name"] = use->model().name;
    model["version"] = use->version;
    const auto found = tracks_.find({use->model().name, use->version});
    if (found == tracks_.end()) {
      continue;  // it came after the last sample
    }
    const std::deque<ModelSample>& samples = found->second.samples;
    Json closed = Json::object();
    for (size_t i = 0; i < kCloseReasonCount; ++i) {
      Json column = Json::array();
      for (const ModelSample& sample : samples) {
        column.push_back(sample.closed_per_second[i]);
      }
      closed[CloseReasonName(static_cast<CloseReason>(i))] = std::move(column);
    }
    model["samples"] = {
        {"arrived_rows_per_second",
         Column(samples, &ModelSample::arrived_rows_per_second)},
        {"requests_per_second",
         Column(samples, &ModelSample::requests_per_second)},
        {"errors_per_second", Column(samples, &ModelSample::errors_per_second)},
        {"refused_per_second",
         Column(samples, &ModelSample::refused_per_second)},
        {"p50_ms", Column(samples, &ModelSample::p50_ms)},
        {"p99_ms", Column(samples, &ModelSample::p99_ms)},
        {"load", Column(samples, &ModelSample::load)},
        {"busy_ratio", Column(samples, &ModelSample::busy)},
        {"rows_per_batch", Column(samples, &ModelSample::rows_per_batch)},
        {"queued_requests", Column(samples, &ModelSample::queued_requests)},
        {"closed_per_second", std::move(closed)}};
    models.push_back(std::move(model));
  }
  Json device = nullptr;
  if (device_ != nullptr) {
    const nvml::DeviceReadings readings =
        device_->readings().value_or(nvml::DeviceReadings());
    device = {
        {"name", device_->choice().name},
        {"uuid", device_->choice().uuid},
        {"profile", device_->choice().profile},
        {"memory_total_bytes", Known(readings.memory_total_bytes)},
        {"power_limit_watts", Known(readings.power_limit_watts)},
        {"samples",
         {{"busy_ratio", Column(device_samples_, &DeviceSample::busy)},
          {"sm_ratio", Column(device_samples_, &DeviceSample::sm)},
          {"memory_used_bytes",
           Column(device_samples_, &DeviceSample::memory_used_bytes)},
          {"power_watts", Column(device_samples_, &DeviceSample::power_watts)},
          {"temperature_celsius",
           Column(device_samples_, &DeviceSample::temperature_celsius)}}}};
  }
  const Json status = {
      {"format", "ferry-status/1"},
      {"server_version", kVersion},
      {"state", StateName(readiness_.state())},
      {"ready", readiness_.is_ready()},
      {"period_seconds", std::chrono::duration<double>(kPeriod).count()},
      {"times", std::move(times)},
      {"models", std::move(models)},
      {"device", std::move(device)}};
  return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ferry
