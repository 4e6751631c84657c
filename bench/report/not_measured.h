// NotMeasured() says what a report does not know, from what its results lack.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_NOT_MEASURED_H_
#define FERRY_BENCH_REPORT_NOT_MEASURED_H_

#include <string>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

// Returns sentences, the weightiest first. `has_price`: the page has costs.
std::vector<std::string> NotMeasured(const std::vector<RunResult>& runs,
                                     bool has_price);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_NOT_MEASURED_H_
