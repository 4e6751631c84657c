// BackendWatch looks at every model from time to time and tells if its device
// is lost, if its backend hangs, and how fast it is; CanAnswer() says what can
// still be had of one.
//
// A backend hangs when one of its instances is at a batch for longer than
// `timeout`, whatever the other instances do; the wait for the device that it
// shares counts, and so does the delivery (SchedulerStatistics::InFlight). It
// still reads the requests' bytes, so nothing can be freed behind its back: the
// process has to end. Before that a batch is *overdue* once it takes ten times
// what was predicted, and over kOverdue: the model is not ready until it ends.
//
// Thread safety: one thread calls Look(); CanAnswer() is for any.
#ifndef FERRY_SERVER_CONTROL_BACKEND_WATCH_H_
#define FERRY_SERVER_CONTROL_BACKEND_WATCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "batcher/statistics.h"
#include "server/control/load_meter.h"
#include "server/control/model_table.h"

namespace ferry {

// The state of one model between two looks.
class ModelWatch {
 public:
  // Returns how long the queue takes to empty at the pace since the last
  // call, or nothing where that shows no pace.
  std::optional<Duration> TimeToEmpty(const SchedulerStatistics& counted,
                                      TimePoint now);

  LoadMeter& arrivals() { return arrivals_; }

 private:
  LoadMeter arrivals_;
  uint64_t rows_ = 0;
  TimePoint rows_at_;
};

// Whether the model answers what it admitted, or some of it, if one waits:
// not what an instance has that hangs. timeout 0: none hangs.
bool CanAnswer(const ServedModel& model, Duration timeout, TimePoint now);

class BackendWatch {
 public:
  // timeout 0: never says that a backend hangs. `is_device_lost` says it of the
  // device that all models share, also while no model uses it, and does not
  // wait for the driver; empty: none.
  BackendWatch(const ModelTable& models, Duration timeout,
               std::function<bool()> is_device_lost = {})
      : models_(models),
        timeout_(timeout),
        is_device_lost_(std::move(is_device_lost)) {}

  // Returns why the process cannot go on, or nothing. Also brings each model's
  // load and retry_pushback_ms, and the server's load, up to date, and tells
  // the log where other models are overdue than at the look before.
  std::optional<std::string> Look(TimePoint now);

  const ServerLoad& load() const { return load_; }

  static constexpr Duration kOverdue = std::chrono::seconds(5);

  // The models that are served, by name and version, of which a batch was
  // overdue at the last look; and whether all were.
  const std::vector<std::string>& overdue() const { return overdue_; }
  bool is_all_overdue() const {
    return !overdue_.empty() && overdue_.size() == served_count_;
  }

 private:
  void SetOverdue(std::vector<std::string> overdue);

  const ModelTable& models_;
  const Duration timeout_;
  const std::function<bool()> is_device_lost_;
  std::map<uint64_t, ModelWatch> watches_;  // by serial of the entry
  std::optional<TimePoint> last_look_;
  ServerLoad load_;
  std::vector<std::string> overdue_;
  size_t served_count_ = 0;  // models
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_BACKEND_WATCH_H_
