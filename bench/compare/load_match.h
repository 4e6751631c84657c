// MatchLoads() pairs the points of two results that were asked for the same
// load, and the searches that were asked for the same bound.
//
// Asked for is: the loop, how many are outstanding or the target rate and the
// arrivals, of an offline query its rows and how many requests are outstanding;
// and, as far as A and B have any in common, the label, the model, the rows of
// a request, its classes, its data and the runtime options that were turned.
// What they have nothing in common in is what they differ by, as of windows and
// warm-ups: a warning, no bar. Nor is it one that a point was unsteady
// (WhyUnsteady()).
//
// A search is matched by its bound, since the rates that it tries differ by
// what it finds: its open loops are matched where both sides have their rate,
// and listed nowhere where one side alone has. Each setting of a tune is such a
// search, and the most that any of them carried is a load of its own.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_COMPARE_LOAD_MATCH_H_
#define FERRY_BENCH_COMPARE_LOAD_MATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// One point and the run it is of, which outlive it; of a search no point.
struct MeasuredPoint {
  const RunResult* run = nullptr;
  const PointResult* point = nullptr;
};

enum class MatchedBy : uint8_t {
  kLoad,   // points
  kBound,  // runs that searched for a rate within it
  kTuned,  // one setting of a tune, searched alike
  kBest,   // the setting of a tune that carried the most
};

struct LoadMatch {
  std::string load;  // in words
  MatchedBy by = MatchedBy::kLoad;
  // Those whose numbers stand, in order.
  std::vector<MeasuredPoint> a = {};
  std::vector<MeasuredPoint> b = {};
  // There are as many of each, the k-th of A and of B run before any later one
  // of either: they share their moment.
  bool is_paired = false;
};

struct LoadMatches {
  std::vector<LoadMatch> loads;  // in the order of A
  // Points in words: of A or B alone, void, cut short.
  std::vector<std::string> left_out;
  std::vector<std::string> unmatched;  // those of loads that are not in `loads`
  std::vector<std::string> unsteady;   // of `loads`, a sentence for each side
  std::vector<std::string> warnings;   // in what A and B differ besides
};

// `a` and `b` outlive the result. Tries of a search are no points; the runs
// that confirm its answer are.
LoadMatches MatchLoads(const std::vector<RunResult>& a,
                       const std::vector<RunResult>& b);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_LOAD_MATCH_H_
