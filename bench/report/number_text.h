// Ms() and its like write numbers as tables and sentences show them.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_NUMBER_TEXT_H_
#define FERRY_BENCH_REPORT_NUMBER_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bench/load/batch_means.h"

namespace ferry::bench {

// For cells, microseconds as milliseconds: "1.234", "12.34", "123.4".
std::string Ms(double us);

// Returns what Ms() does; "-" where nothing was counted.
std::string MsOrNone(double us);

// "1.20 to 1.34"; "-" without one.
std::string MsOrNone(const std::optional<Interval>& interval);

// "0.64" with two digits; "-" without a value.
std::string NumberOrNone(const std::optional<double>& value, int digits);

// "12.5 %" of a share of 0.125; "0 %".
std::string Percent(double share);

// For sentences: three figures that count, "1.23 ms", "12.3 ms", "123 ms".
std::string MsInWords(double us);

// For sentences: "3,870", "85.3", "1.25".
std::string RateInWords(double rate);

// "3,870": digits by threes.
std::string Grouped(int64_t number);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_NUMBER_TEXT_H_
