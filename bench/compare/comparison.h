// Comparison says what two results tell about each other, and how surely.
//
// A load that was measured several times on each side is compared by these
// repeats, as pairs where they are. One run of each is compared by the slices
// of its window: that sees how requests of one run vary, not how two moments of
// a shared machine differ, and says so. Searches and tunes are compared by the
// rates that they found, one of each by their precision.
//
// Each difference stands only where it would among all that are tested (Holm);
// intervals are of 95 % each.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_COMPARE_COMPARISON_H_
#define FERRY_BENCH_COMPARE_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/estimate.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

enum class Verdict : uint8_t {
  kUnknown,   // nothing says how it varies, or a run has no value of it
  kSame,      // no difference that these runs can show
  kByChance,  // its interval has none of zero, as one of so many may by chance
  kDiffers,
};

struct Metric {
  // "rate", "goodput", "mean", "p50", "p99", "errors", "rows"
  std::string name;
  std::string unit;      // of `a` and `b`; the rate of a query is in "rows/s"
  bool is_ratio = true;  // else a difference: shares of errors
  // 1: the higher; -1: the lower; 0: neither, or it is told and not judged, as
  // the goodput of one run each.
  int better = 0;
  // Geometric mean of the repeats that have a value; of shares, the mean. Not a
  // number where none has.
  double a = 0;
  double b = 0;
  size_t without = 0;  // runs that have no value, as where nothing succeeded
  // Estimates log(b / a), or b - a. Nothing where a run is without.
  std::optional<Estimate> estimate = std::nullopt;
  Verdict verdict = Verdict::kUnknown;

  // 95 % of b / a, or of b - a. REQUIRES: there is an estimate.
  double low() const;
  double high() const;
};

enum class Method : uint8_t {
  kPairs,
  kRepeats,
  kSlices,     // of one run each
  kPrecision,  // of one search each
};

struct LoadComparison {
  std::string load;
  Method method = Method::kSlices;
  size_t runs_a = 0;
  size_t runs_b = 0;
  std::vector<Metric> metrics = {};
};

struct Comparison {
  std::string name_a;
  std::string name_b;
  std::vector<LoadComparison> loads;
  size_t tests = 0;                    // that Holm counts
  std::vector<std::string> warnings;   // in what A and B differ besides
  std::vector<std::string> unsteady;   // loads of one side: how far, and why
  std::vector<std::string> left_out;   // points of one side, void or cut short
  std::vector<std::string> unmatched;  // those of loads that are not in `loads`
  std::vector<std::string> notes;      // how far to trust it
};

// `a` is the base.
Comparison CompareRuns(const std::vector<RunResult>& a,
                       const std::vector<RunResult>& b);

// Returns "B's p99 is 12.1 % lower (8.0 to 16.0 %)", or what else there is to
// say.
std::string VerdictText(const Metric& metric);

// Returns a sentence for each rate, latency or share of errors that stands and
// whose whole interval is worse by more than `percent` (of A; of errors:
// percentage points), and for all that was not to be judged: loads without a
// match that stands, metrics without an interval, nothing at all in common.
std::vector<std::string> WorseThan(const Comparison& comparison,
                                   double percent);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_COMPARISON_H_
