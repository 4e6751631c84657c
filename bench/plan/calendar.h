// ParseDay() reads a day of the calendar as it is written, "2026-01-31".
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_PLAN_CALENDAR_H_
#define FERRY_BENCH_PLAN_CALENDAR_H_

#include <chrono>
#include <optional>
#include <string>

namespace ferry::plan {

// Returns the day, or nothing where the text is no day of the calendar.
std::optional<std::chrono::sys_days> ParseDay(const std::string& text);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_CALENDAR_H_
