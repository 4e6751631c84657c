// FactsToHtml() says where and how runs were made: what all share once, and
// what differs as a table.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_RUN_FACTS_H_
#define FERRY_BENCH_REPORT_RUN_FACTS_H_

#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns every fact of each run.
std::string FactsToHtml(const std::vector<RunResult>& runs);

// Returns one line for the head of a page: models, server, processor, day.
std::string FactsInShort(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_RUN_FACTS_H_
