// Implements Estimate: means, standard errors and t intervals.
#include "bench/compare/estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "bench/compare/student_t.h"

namespace ferry::bench {
namespace {

constexpr double kMostCorrelation = 0.9;
constexpr size_t kLeastRepeats = 3;  // beside a side that was measured once

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// Returns that of one value. REQUIRES: two values at least.
double Variance(const std::vector<double>& values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return squares / static_cast<double>(values.size() - 1);
}

Estimate From(double difference, double error, double degrees) {
  if (error == 0) {  // nothing varied: a difference is one
    const double p_value = difference == 0 ? 1 : 0;
    return {difference, difference, difference, p_value, error, degrees};
  }
  const double half = StudentQuantile(kChance, degrees) * error;
  return {difference,
          difference - half,
          difference + half,
          StudentTwoSided(difference / error, degrees),
          error,
          degrees};
}

Center CenterOf(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  return {Mean(values), std::sqrt(Variance(values) / count), count - 1};
}

}  // namespace

std::optional<Estimate> EstimatePaired(const std::vector<double>& a,
                                       const std::vector<double>& b) {
  if (a.size() < 2) {
    return std::nullopt;
  }
  std::vector<double> differences(a.size());
  std::transform(b.begin(), b.end(), a.begin(), differences.begin(),
                 std::minus<>());
  const Center center = CenterOf(differences);
  return From(center.value, center.error, center.degrees);
}

std::optional<Estimate> EstimateUnpaired(const std::vector<double>& a,
                                         const std::vector<double>& b) {
  if (a.size() >= 2 && b.size() >= 2) {
    return EstimateOf(CenterOf(a), CenterOf(b));
  }
  const std::vector<double>& repeats = a.size() > b.size() ? a : b;
  if (a.empty() || b.empty() || repeats.size() < kLeastRepeats) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(repeats.size());
  return From(Mean(b) - Mean(a), std::sqrt(Variance(repeats) * (1 + 1 / count)),
              count - 1);
}

Estimate EstimateOf(const Center& a, const Center& b) {
  const double of_a = a.error * a.error;
  const double of_b = b.error * b.error;
  const double sum = of_a + of_b;
  const double denominator = of_a * of_a / std::max(a.degrees, 1.0) +
                             of_b * of_b / std::max(b.degrees, 1.0);
  const double degrees = denominator > 0 ? sum * sum / denominator
                                         : std::max(a.degrees + b.degrees, 1.0);
  return From(b.value - a.value, std::sqrt(sum), degrees);
}

std::optional<Estimate> WithError(const Estimate& estimate, double error) {
  if (error == 0 && estimate.difference != 0) {
    return std::nullopt;
  }
  return From(estimate.difference, error, estimate.degrees);
}

std::vector<bool> Holm(const std::vector<double>& p_values, double chance) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return p_values[left] < p_values[right];
  });
  std::vector<bool> stand(p_values.size(), false);
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (p_values[order[rank]] >
        chance / static_cast<double>(order.size() - rank)) {
      break;
    }
    stand[order[rank]] = true;
  }
  return stand;
}

double VarianceInflation(const std::vector<double>& values) {
  if (values.size() < 3) {
    return 1;
  }
  const double mean = Mean(values);
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) {
      products += (values[i] - mean) * (values[i - 1] - mean);
    }
  }
  const double found = squares > 0 ? products / squares : 0;
  const double r = found + (1 + 3 * found) / static_cast<double>(values.size());
  const double bounded = std::clamp(r, 0.0, kMostCorrelation);
  return (1 + bounded) / (1 - bounded);
}

double InflatedDegrees(double count, double inflation) {
  // (1 - r^2) / (1 + r^2) of the r that inflation is (1 + r) / (1 - r) of.
  const double share = 2 * inflation / (1 + inflation * inflation);
  return std::max(count * share - 1, 1.0);
}

}  // namespace ferry::bench
