// ComparedRuns are the two sides of a comparison, from files and labels.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_COMPARE_COMPARED_RUNS_H_
#define FERRY_BENCH_COMPARE_COMPARED_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct ComparedFiles {
  std::string a;
  std::string b = {};        // empty: A holds both
  std::string label_a = {};  // empty: any, where there is no doubt
  std::string label_b = {};
};

struct ComparedRuns {
  std::vector<RunResult> a;
  std::vector<RunResult> b;
};

// Takes the runs of the given labels. Without labels one file must have just
// two, of which the first is A; two files must have one label each, or the same
// ones, but for those of tunes. Errors: INVALID_ARGUMENT, with the labels there
// are.
absl::StatusOr<ComparedRuns> SelectCompared(std::vector<RunResult> a,
                                            std::vector<RunResult> b,
                                            const ComparedFiles& files);

// The same from the files. Errors: those of reading too.
absl::StatusOr<ComparedRuns> ReadCompared(const ComparedFiles& files);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_COMPARED_RUNS_H_
