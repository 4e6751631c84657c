// Implements BackendWatch: looks at snapshots of the schedulers.
#include "server/control/backend_watch.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

constexpr int64_t kMinPushbackMs = 1;
constexpr int64_t kMaxPushbackMs = 1000;
constexpr int kOverdueTimes = 10;  // the prediction

using InFlight = SchedulerStatistics::InFlight;

bool Hangs(const InFlight& instance, Duration timeout, TimePoint now) {
  return timeout > Duration(0) && now - instance.oldest_begin > timeout;
}

// A model that has not run yet has no prediction.
Duration OverdueAfter(const SchedulerStatistics& counted) {
  return std::max(BackendWatch::kOverdue,
                  kOverdueTimes * counted.full_batch_time);
}

void AddTo(double& sum, double value) {
  sum = std::isfinite(sum) ? sum + value : value;
}

ModelLoad LoadOf(const Scheduler& scheduler, const SchedulerStatistics& counted,
                 const ArrivalRates& rates) {
  const double capacity =
      CapacityOf(counted, scheduler.runtime_options().max_batch_size,
                 scheduler.options().max_requests_per_batch == 1,
                 rates.rows_per_batch, int64_t{scheduler.instance_count()});
  return {.capacity = capacity,
          .last_minute = rates.last_minute / capacity,
          .last_5s = rates.last_5s / capacity};
}

}  // namespace

bool CanAnswer(const ServedModel& model, Duration timeout, TimePoint now) {
  const SchedulerStatistics counted = model.scheduler->Snapshot();
  size_t hung = 0;
  int32_t hung_batches = 0;
  for (const InFlight& instance : counted.in_flight) {
    if (Hangs(instance, timeout, now)) {
      ++hung;
      hung_batches += std::max(instance.batches, 1);  // 0: it delivers one
    }
  }
  if (model.scheduler->is_device_lost() || hung == counted.in_flight.size() ||
      (hung > 0 && model.config.dynamic_batching().preserve_ordering())) {
    return false;  // in the last case what follows waits for what hangs
  }
  return counted.queued_requests > 0 || counted.running_batches > hung_batches;
}

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

void BackendWatch::SetOverdue(std::vector<std::string> overdue) {
  if (overdue != overdue_ && !overdue.empty()) {
    spdlog::warn(
        "not ready: a batch takes ten times what was predicted, and over 5 s: "
        "{}",
        absl::StrJoin(overdue, ", "));
  } else if (overdue != overdue_) {
    spdlog::info("no batch takes too long any more");
  }
  overdue_ = std::move(overdue);
}

std::optional<std::string> BackendWatch::Look(TimePoint now) {
  std::set<uint64_t> served;
  std::vector<std::string> overdue;
  ServerLoad load;
  std::vector<ModelUse> uses = models_.UseAll();
  served_count_ = uses.size();
  for (ModelUse& leaving : models_.UseLeaving()) {
    uses.push_back(std::move(leaving));
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    ModelEntry& entry = *uses[i];
    served.insert(entry.serial);
    const auto [found, is_new] = watches_.try_emplace(entry.serial);
    ModelWatch& watch = found->second;
    if (is_new && last_look_.has_value()) {
      watch.arrivals().Add(*last_look_, {});  // it came since
    }
    const Scheduler& scheduler = *entry.model().scheduler;
    const std::string which =
        absl::StrCat("model=", entry.model().name, " version=", entry.version);
    if (scheduler.is_device_lost()) {
      return absl::StrCat("device is lost ", which);
    }
    const SchedulerStatistics counted = scheduler.Snapshot();
    const ArrivalRates rates = watch.arrivals().Add(
        now,
        {.arrived_rows = entry.arrived_rows.load(std::memory_order_relaxed),
         .served = TotalsOf(counted.served)});
    const ModelLoad of_model = LoadOf(scheduler, counted, rates);
    entry.load.Store(of_model);
    if (std::isfinite(of_model.last_5s)) {
      AddTo(load.ratio, of_model.last_5s);
      AddTo(load.rows_per_second, rates.last_5s);
    }
    const auto oldest =
        std::min_element(counted.in_flight.begin(), counted.in_flight.end(),
                         [](const InFlight& a, const InFlight& b) {
                           return a.oldest_begin < b.oldest_begin;
                         });
    const bool is_overdue = oldest != counted.in_flight.end() &&
                            now - oldest->oldest_begin > OverdueAfter(counted);
    if (is_overdue && i < served_count_) {
      overdue.push_back(which);
    }
    if (!entry.is_overdue.exchange(is_overdue) && is_overdue) {
      entry.overdue_batches.fetch_add(1, std::memory_order_relaxed);
    }
    if (oldest != counted.in_flight.end() && Hangs(*oldest, timeout_, now)) {
      return absl::StrCat("backend hangs ", which, " seconds=",
                          std::chrono::duration_cast<std::chrono::seconds>(
                              now - oldest->oldest_begin)
                              .count());
    }
    if (const auto wait = watch.TimeToEmpty(counted, now)) {
      const auto ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(*wait).count();
      entry.retry_pushback_ms.store(
          std::clamp<int64_t>(ms, kMinPushbackMs, kMaxPushbackMs),
          std::memory_order_relaxed);
    }
  }
  std::erase_if(watches_, [&served](const auto& each) {
    return !served.contains(each.first);
  });
  load_ = load;
  SetOverdue(std::move(overdue));
  last_look_ = now;
  if (is_device_lost_ && is_device_lost_()) {
    return "device is lost";
  }
  return std::nullopt;
}

}  // namespace ferry
