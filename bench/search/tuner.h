// Tuner finds the runtime options with which a running server carries the
// highest rate within a bound.
//
// Each setting after the first is tried at a rate above the best so far, by
// more than that is known to, and searched only where it meets the bound there:
// most cost one short try. In the end the best and the first setting, which is
// the server's own, are searched again in turns, with all confirmations: the
// best is kept where it carries more by more than the two searches can err,
// else there is no difference and the server's own is kept.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_SEARCH_TUNER_H_
#define FERRY_BENCH_SEARCH_TUNER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/report/runtime_grid.h"

namespace ferry::bench {

struct TunedSetting {
  RuntimeSetting setting;
  // Requests/s; nothing where it did not carry `above`.
  std::optional<double> rate;
  double above = 0;  // the rate that it had to carry to be searched; 0: any
};

struct TuneResult {
  std::vector<TunedSetting> tried;  // in order; the first is the server's own
  // To be used, confirmed; nothing where none was, or it was stopped. The
  // server's own where no other is better by more than can be told.
  std::optional<TunedSetting> best;
  // What `best` was confirmed in turns with, and its rate so found: the
  // server's own, or where that is the best the one that seemed better. Nothing
  // where no other setting carried more, or the own one carried no rate at all.
  std::optional<TunedSetting> other;
};

// How surely rates are known, as shares of them.
struct TunePrecision {
  double coarse = 0.03;     // of the searches of the race
  double confirmed = 0.02;  // of the searches at the end

  // Both of two rates that are compared may be off.
  double worthwhile() const { return 1 + 2 * coarse; }
  double difference() const { return 1 + 2 * confirmed; }
};

// Returns what to say of the result, a sentence or two; `bound` is "p99 <= 50
// ms". REQUIRES: there is a best.
std::string DescribeAnswer(const TuneResult& result,
                           const TunePrecision& precision,
                           const std::string& bound);

class Tuner {
 public:
  using Turn = std::function<absl::Status(const RuntimeSetting&)>;
  // Searches with the setting in force, from `first_rate` on (0: any) or only
  // above it. Nothing where no rate was found.
  enum class Search : uint8_t { kOnlyAbove, kCoarse };
  using Measure =
      std::function<std::optional<double>(Search search, double first_rate)>;
  // Searches with all confirmations, in turns where there are two, from their
  // rates on, which become those it found.
  using Confirm = std::function<absl::Status(std::vector<TunedSetting>&)>;
  using IsStopped = std::function<bool()>;

  Tuner(const TunePrecision& precision, Turn turn, Measure measure,
        Confirm confirm, IsStopped is_stopped)
      : precision_(precision),
        turn_(std::move(turn)),
        measure_(std::move(measure)),
        confirm_(std::move(confirm)),
        is_stopped_(std::move(is_stopped)) {}

  // Errors: those of `turn` and `confirm`; what was tried before stands in
  // `result`. The caller restores the runtime options.
  absl::Status Run(const std::vector<RuntimeSetting>& settings,
                   TuneResult& result);

 private:
  // Returns the best of the race.
  absl::StatusOr<std::optional<TunedSetting>> Race(
      const std::vector<RuntimeSetting>& settings, TuneResult& result);

  const TunePrecision precision_;
  const Turn turn_;
  const Measure measure_;
  const Confirm confirm_;
  const IsStopped is_stopped_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_TUNER_H_
