// PercentileMs() writes a percentile as tables show it: with a ? where too few
// latencies lie beyond.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_PERCENTILE_TEXT_H_
#define FERRY_BENCH_REPORT_PERCENTILE_TEXT_H_

#include <cstdint>
#include <string>

namespace ferry::bench {

inline constexpr char kUnbacked[] = "?";

// Whether the quantile `q`, 0 to 1, of so many latencies has ten beyond it. The
// maximum, q = 1, always counts as known: it was seen.
bool IsBacked(uint64_t samples, double q);

// "1.234" ms of microseconds, "1.234?" where that is not backed; "-" of 0,
// which nothing was counted for.
std::string PercentileMs(double us, uint64_t samples, double q);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_PERCENTILE_TEXT_H_
