// Implements BackendWatch: looks at snapshots of the schedulers.
#include "server/control/backend_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr int64_t kMinPushbackMs = 1;
constexpr int64_t kMaxPushbackMs = 1000;

// How long an instance has been at its batch, the longest; 0 where none is.
Duration LongestBatch(const SchedulerStatistics& counted, TimePoint now) {
  TimePoint oldest = now;
  for (const SchedulerStatistics::InFlight& instance : counted.in_flight) {
    oldest = std::min(oldest, instance.oldest_begin);
  }
  return now - oldest;
}

}  // namespace

std::optional<Duration> ModelWatch::TimeToEmpty(
    const SchedulerStatistics& counted, TimePoint now) {
  const uint64_t rows = counted.served.ok_rows.value() - rows_;
  const Duration passed = now - rows_at_;
  const bool is_first = rows_at_ == TimePoint();
  rows_ = counted.served.ok_rows.value();
  rows_at_ = now;
  if (rows == 0 || is_first) {
    return std::nullopt;
  }
  const double per_row =
      static_cast<double>(passed.count()) / static_cast<double>(rows);
  return Duration(std::llround(per_row * counted.queued_rows));
}

std::optional<std::string> BackendWatch::Look(TimePoint now) {
  std::map<uint64_t, ModelWatch> watches;
  std::vector<ModelUse> uses = models_.UseAll();
  for (ModelUse& leaving : models_.UseLeaving()) {
    uses.push_back(std::move(leaving));  // it answers its last requests
  }
  for (const ModelUse& use : uses) {
    ModelEntry& entry = *use;
    ModelWatch& watch = watches[entry.serial] = watches_[entry.serial];
    const Scheduler& scheduler = *entry.model().scheduler;
    const std::string which =
        absl::StrCat("model=", entry.model().name, " version=", entry.version);
    if (scheduler.is_device_lost()) {
      return absl::StrCat("device is lost ", which);
    }
    const SchedulerStatistics counted = scheduler.Snapshot();
    const Duration age = LongestBatch(counted, now);
    if (timeout_ > Duration(0) && age > timeout_) {
      return absl::StrCat(
          "backend hangs ", which, " seconds=",
          std::chrono::duration_cast<std::chrono::seconds>(age).count());
    }
    if (const auto wait = watch.TimeToEmpty(counted, now)) {
      const auto ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(*wait).count();
      entry.retry_pushback_ms.store(
          std::clamp<int64_t>(ms, kMinPushbackMs, kMaxPushbackMs),
          std::memory_order_relaxed);
    }
  }
  watches_ = std::move(watches);  // of what is served now
  if (is_device_lost_ && is_device_lost_()) {
    return "device is lost";
  }
  return std::nullopt;
}

}  // namespace ferry
