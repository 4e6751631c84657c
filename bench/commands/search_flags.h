// SearchFlags holds what searches share: the bound, how it is searched for, and
// on what.
//
// Thread safety: plain values; functions of their arguments.
#ifndef FERRY_BENCH_COMMANDS_SEARCH_FLAGS_H_
#define FERRY_BENCH_COMMANDS_SEARCH_FLAGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/client/counter_source.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/run_options.h"
#include "bench/load/load_source.h"
#include "bench/report/run_result.h"
#include "bench/search/rate_search.h"

namespace ferry::bench {

struct SearchFlags {
  RunOptions run;
  double slo_ms = 0;
  double percentile = 99;
  double success = 0;  // percent of all; 0: as many as the percentile takes
  double precision = 0.02;
  int32_t confirmations = 3;
  double first_rate = 0;  // requests/s; 0: half of what a closed loop achieves
};

// What is searched.
struct Searched {
  // Makes the sender, each time anew. What it sends to outlives that. Errors:
  // those of a process that cannot.
  std::function<absl::StatusOr<std::unique_ptr<LoadSource>>()> make_loads;
  const CounterSource* counters = nullptr;  // outlives the search; null: none
  int32_t instances = 1;
};

// Adds every flag to `command`; its parsing fills `flags`, which outlives it.
void AddSearchFlags(CLI::App& command, SearchFlags& flags);
// Adds those of these that say how it is searched.
void AddSearchStepFlags(CLI::App& command, SearchFlags& flags);

// Completes the flags, with a warm-up as long as the bound takes it.
// INVALID_ARGUMENT as CompleteRunOptions(), for classes that the client cancels
// (what ends early meets every bound) and for a trace's scale.
absl::Status Complete(SearchFlags& flags);

// Returns the run with those points alone that confirm what was found, and
// their goodput within its bound.
RunResult Confirmations(const RunResult& run);

// Returns options of a search from that rate on.
RateSearchOptions OptionsOf(const SearchFlags& flags, double first_rate);

// Returns the flag's first rate, else half of what a closed loop achieves,
// which is then a point of the run; above 0. `later`: about how long it takes
// what follows. Errors: UNAVAILABLE where the loop achieved nothing, was void
// or interrupted; those of the sender.
absl::StatusOr<double> FirstRate(const SearchFlags& flags,
                                 const Searched& searched,
                                 const ProgressLine::Later& later,
                                 RunResult& run);

// Says on stderr where windows are longer than the flags ask for, as the bound
// takes it, and how long a search may last.
void PrintWindows(const SearchFlags& flags);

// Returns what the search is for; nothing was found yet.
SearchSummary SummaryOf(const SearchFlags& flags);

// Returns "p99 <= 50 ms".
std::string DescribeBound(const SearchFlags& flags);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SEARCH_FLAGS_H_
