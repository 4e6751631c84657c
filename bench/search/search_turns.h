// SearchInTurns() runs several searches of one server under different
// conditions, a try of each in turn, so that a machine that slows down slows
// all of them.
//
// Thread safety: thread-compatible; each search is stopped by its own Stop().
#ifndef FERRY_BENCH_SEARCH_SEARCH_TURNS_H_
#define FERRY_BENCH_SEARCH_SEARCH_TURNS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "bench/search/rate_search.h"

namespace ferry::bench {

struct TurnOfSearch {
  std::function<absl::Status()> begin;  // before each try: sets its conditions
  RateSearch* search = nullptr;         // outlives the turns
  RunResult* run = nullptr;             // that its tries are appended to
};

// Returns once none has a try left; what was found is each search's found().
// Errors: those of `begin` and of a search's status(), which end it.
absl::Status SearchInTurns(const std::vector<TurnOfSearch>& turns,
                           const RateSearch::OnTry& on_try);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_SEARCH_TURNS_H_
