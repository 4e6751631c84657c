// Compare() says which of several labels served more, in a sentence each;
// whether it is more than chance is for `ferry-bench compare`.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_REPORT_RATE_COMPARISON_H_
#define FERRY_BENCH_REPORT_RATE_COMPARISON_H_

#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns sentences that compare each label with the first of the same model:
// the ratio of what their searches found for the same bound; without searches,
// of the highest achieved rates that are carried (Carries()), of closed loops
// where both have such, else of open ones. Runs of one label are repeats and
// count together.
std::vector<std::string> Compare(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_RATE_COMPARISON_H_
