// Implements Slo: two shares, of what was late and of what failed.
#include "bench/search/slo.h"

#include <algorithm>

namespace ferry::bench {
namespace {

bool IsWithin(uint64_t count, uint64_t planned, double allowed) {
  return static_cast<double>(count) <= allowed * static_cast<double>(planned);
}

// Whether the success is asked for beside the quantile.
bool AsksForSuccess(const Slo& slo) { return slo.success > slo.quantile; }

// Tests what TestShare() does, which takes no share of 0: one failure misses
// it, and no number of successes is enough to be sure.
ShareVerdict TestSuccess(const SloCounts& counts, const Slo& slo,
                         double confidence) {
  if (slo.success < 1) {
    return TestShare(counts.failed, counts.planned, 1 - slo.success,
                     confidence);
  }
  return counts.failed > 0 ? ShareVerdict::kMissed : ShareVerdict::kUndecided;
}

}  // namespace

SloCounts& SloCounts::operator+=(const SloCounts& other) {
  planned += other.planned;
  missed += other.missed;
  failed += other.failed;
  return *this;
}

SloCounts CountAgainst(const LoadResult& load, const Slo& slo) {
  const uint64_t within =
      load.latency.CountAtOrBelow(static_cast<uint64_t>(slo.latency.count()));
  return {.planned = load.planned,
          .missed = load.planned - std::min(load.planned, within),
          .failed = load.planned - std::min(load.planned, load.ok())};
}

bool Keeps(const SloCounts& counts, const Slo& slo) {
  return IsWithin(counts.missed, counts.planned, 1 - slo.quantile) &&
         (!AsksForSuccess(slo) ||
          IsWithin(counts.failed, counts.planned, 1 - slo.success));
}

ShareVerdict TestSlo(const SloCounts& counts, const Slo& slo,
                     double confidence) {
  const ShareVerdict latency =
      TestShare(counts.missed, counts.planned, 1 - slo.quantile, confidence);
  if (latency == ShareVerdict::kMissed || !AsksForSuccess(slo)) {
    return latency;
  }
  const ShareVerdict success = TestSuccess(counts, slo, confidence);
  return success == ShareVerdict::kMet ? latency : success;
}

}  // namespace ferry::bench
