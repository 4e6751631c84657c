// Implements CompareFoundRates(): logarithms of rates, uniform errors.
#include "bench/compare/found_rate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"

namespace ferry::bench {
namespace {

using Searches = std::vector<MeasuredPoint>;

constexpr double kUsual = 0.02;   // where an older file does not tell it
constexpr double kOfRace = 0.03;  // of the searches of `tune`, at least
constexpr double kKnown = 1e5;  // degrees of freedom of an error that is known

// Older files have the flag only.
double PrecisionOf(const RunResult& run) {
  if (run.search->precision > 0) {
    return run.search->precision;
  }
  const auto& flags = run.environment.flags;
  const auto found = flags.find("precision");
  double precision = kUsual;
  if (found != flags.end()) {
    double told = 0;
    precision =
        absl::SimpleAtod(found->second, &told) && told > 0 ? told : kUsual;
  }
  return run.runtime_options.has_value() ? std::max(precision, kOfRace)
                                         : precision;
}

// The coarsest of them.
double PrecisionOf(const Searches& searches) {
  double precision = 0;
  for (const MeasuredPoint& search : searches) {
    precision = std::max(precision, PrecisionOf(*search.run));
  }
  return precision;
}

// The standard error of what is uniform within `half` to each side. Source:
// JCGM 100:2008 (Guide to the Expression of Uncertainty in Measurement), 4.3.7.
double Uniform(double half) { return half / std::sqrt(3.0); }

std::vector<double> LogRates(const Searches& searches) {
  std::vector<double> logs;
  for (const MeasuredPoint& search : searches) {
    logs.push_back(std::log(*search.run->search->found_rate));
  }
  return logs;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

std::optional<Estimate> EstimateFor(const LoadMatch& match,
                                    const std::vector<double>& a,
                                    const std::vector<double>& b) {
  const double precise_a = PrecisionOf(match.a);
  const double precise_b = PrecisionOf(match.b);
  if (a.size() == 1 && b.size() == 1) {
    return EstimateOf({a[0], Uniform(precise_a), kKnown},
                      {b[0], Uniform(precise_b), kKnown});
  }
  const auto estimate =
      match.is_paired ? EstimatePaired(a, b) : EstimateUnpaired(a, b);
  if (!estimate.has_value()) {
    return std::nullopt;
  }
  return WithError(*estimate,
                   std::hypot(estimate->error, Uniform(precise_a / 2),
                              Uniform(precise_b / 2)));
}

}  // namespace

Metric CompareFoundRates(const LoadMatch& match) {
  const std::vector<double> a = LogRates(match.a);
  const std::vector<double> b = LogRates(match.b);
  return {.name = "rate",
          .unit = "/s",
          .is_ratio = true,
          .better = 1,
          .a = std::exp(Mean(a)),
          .b = std::exp(Mean(b)),
          .estimate = EstimateFor(match, a, b)};
}

double ClientCeiling(const Searches& searches) {
  double ceiling = 0;
  for (const MeasuredPoint& search : searches) {
    ceiling = std::max(ceiling, search.run->search->client_ceiling);
  }
  return ceiling;
}

}  // namespace ferry::bench
