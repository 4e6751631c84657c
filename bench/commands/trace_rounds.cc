// Implements DescribeRounds(): a round takes the trace's arrivals / the rate.
#include "bench/commands/trace_rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

constexpr double kWhole =
    1e-6;  // of a round, by which it may miss for rounding

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string Describe(const SweepOptions& sweep, double rate) {
  const double round_s = sweep.arrivals.trace_arrivals / rate;
  const double measured_s = Seconds(sweep.measured);
  const std::string what =
      absl::StrFormat("%s at %.6g/s", sweep.arrivals.name, rate);
  if (measured_s >= round_s * (1 - kWhole)) {
    const double rounds = measured_s / round_s;
    return absl::StrFormat(
        "%s: all its %.6g s are measured %s", what, round_s,
        rounds < 1 + kWhole ? "once" : absl::StrFormat("%.4g times", rounds));
  }
  const double played_s =
      std::min(measured_s + Seconds(sweep.warm_up), round_s);
  return absl::StrFormat(
      "%s: only %.6g s of its %.6g s are played, from its first line, warm-up "
      "included: --duration-secs %.6g measures all of it",
      what, played_s, round_s, round_s);
}

}  // namespace

double WholeRoundsSecs(const SweepOptions& sweep, double least_s) {
  const double round_s =
      sweep.arrivals.trace_arrivals / sweep.arrivals.own_rate;
  return round_s * std::max(std::ceil(least_s / round_s), 1.0);
}

std::vector<std::string> DescribeRounds(const SweepOptions& sweep) {
  std::vector<std::string> lines;
  if (sweep.arrivals.trace_arrivals == 0) {
    return lines;
  }
  for (const double rate : sweep.rates) {
    lines.push_back(Describe(sweep, rate));
  }
  return lines;
}

}  // namespace ferry::bench
