// PlanText() puts a plan in words, PlanJson() in format "ferry-bench-plan/1".
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_COMMANDS_PLAN_TEXT_H_
#define FERRY_BENCH_COMMANDS_PLAN_TEXT_H_

#include <string>
#include <vector>

#include "bench/commands/plan_result.h"

namespace ferry::bench {

// Returns the answer in a sentence, and one more where there is a before.
std::string PlanAnswer(const PlanReport& report);

// Returns what to know about the numbers: of both plans, and of the prices.
std::vector<std::string> PlanNotes(const PlanReport& report);

// Returns the answer, what was measured and paid, the table of numbers, what
// to know about them, and the formula and source of each.
std::string PlanText(const PlanReport& report, size_t columns = 0);

// Returns the same as JSON. `command` and `date` say where it comes from.
std::string PlanJson(const PlanReport& report, const std::string& command,
                     const std::string& date);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_PLAN_TEXT_H_
