// Tuner finds the knobs with which a running server carries the highest rate
// within a bound.
//
// Each setting after the first is tried at a rate above the best so far, and
// searched only where it meets the bound there: most cost one short try. The
// winner is searched again, with all confirmations.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_SEARCH_TUNER_H_
#define FERRY_BENCH_SEARCH_TUNER_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/report/knob_grid.h"

namespace ferry::bench {

struct TunedSetting {
  KnobSetting setting;
  // Requests/s; nothing where it did not carry `above`.
  std::optional<double> rate;
  double above = 0;  // the rate that it had to carry to be searched; 0: any
};

struct TuneResult {
  std::vector<TunedSetting> tried;   // in order
  std::optional<TunedSetting> best;  // confirmed
};

class Tuner {
 public:
  using Turn = std::function<absl::Status(const KnobSetting&)>;
  // Searches with the setting in force, from `first_rate` on (0: any), only
  // above it or confirmed. Nothing where no rate was found.
  enum class Search : uint8_t { kOnlyAbove, kCoarse, kConfirmed };
  using Measure =
      std::function<std::optional<double>(Search search, double first_rate)>;
  using IsStopped = std::function<bool()>;

  Tuner(Turn turn, Measure measure, IsStopped is_stopped)
      : turn_(std::move(turn)),
        measure_(std::move(measure)),
        is_stopped_(std::move(is_stopped)) {}

  // Errors: those of `turn`; what was tried before stands in `result`. Whoever
  // called restores the knobs.
  absl::Status Run(const std::vector<KnobSetting>& settings,
                   TuneResult& result);

 private:
  // A setting that is not better by this share is not searched.
  static constexpr double kWorthwhile = 1.03;

  const Turn turn_;
  const Measure measure_;
  const IsStopped is_stopped_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_TUNER_H_
