// Implements batch means: slices joined to batches; their spread; their trend.
#include "bench/load/batch_means.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_format.h"
#include "bench/compare/estimate.h"
#include "bench/compare/student_t.h"
#include "bench/load/falling_behind.h"

namespace ferry::bench {
namespace {

// Values of a batch above its percentile: fewer make it the batch's largest.
constexpr double kAbove = 10;
constexpr double kLong = 50;           // times p99: nearly independent
constexpr double kShortest = 10;       // times p99: shorter says nothing
constexpr double kTrendAllowed = 0.2;  // of the median, over the window

// Deviations of a normal, two-sided: 99.9 % for a trend, as each point of each
// report is asked for one.
constexpr double kTrend = 3.290527;

// Student's t where a normal has z, by degrees of freedom. Within 1 % from 9
// on: the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).
double StudentsT(double z, double degrees) {
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * degrees) +
         (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

struct Spread {
  double mean = 0;
  double deviation = 0;  // of one value
};

Spread SpreadOf(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return {mean, std::sqrt(squares / (count - 1))};
}

// How many slices make a batch: as long as kLong of the latency's p99, or as
// leaves kLeastBatches. 0 where that is shorter than kShortest of it.
size_t SlicesOfBatch(const LoadResult& load) {
  const auto p99 = static_cast<double>(load.latency.Quantile(0.99));
  const auto slice = static_cast<double>(load.slice.count());
  const size_t most = load.slices.size() / kLeastBatches;
  if (most == 0 || slice * static_cast<double>(most) < kShortest * p99) {
    return 0;
  }
  const double wanted = std::max(std::ceil(kLong * p99 / slice), 1.0);
  return static_cast<size_t>(std::min(wanted, static_cast<double>(most)));
}

// The slices, joined to batches of `least` latencies at least; those that are
// left over go to the last. Empty where there are too few.
std::vector<LatencyHistogram> Batches(const LoadResult& load, uint64_t least) {
  std::vector<LatencyHistogram> batches;
  const size_t wanted = SlicesOfBatch(load);
  if (wanted == 0 || load.is_decided) {  // decided: the last is a part of one
    return batches;
  }
  size_t joined = wanted;
  for (const LoadSlice& slice : load.slices) {
    if (batches.empty() ||
        (joined >= wanted && batches.back().count() >= least)) {
      batches.emplace_back();
      joined = 0;
    }
    batches.back().Merge(slice.latency);
    ++joined;
  }
  if (batches.size() > 1 &&
      (joined < wanted || batches.back().count() < least)) {
    batches[batches.size() - 2].Merge(batches.back());
    batches.pop_back();
  }
  return batches.size() < kLeastBatches ? std::vector<LatencyHistogram>()
                                        : batches;
}

// Half of an interval, and the degrees of freedom that it was made with.
struct Half {
  double width = 0;
  double degrees = 0;
};

// The half for a mean over all latencies, or for a share of them; `sum` is of
// one batch: the sum, or the count of those. As the error of a ratio:
// batches do not all have as many latencies. Source: Law, chapter 9.
Half HalfOf(const std::vector<LatencyHistogram>& batches,
            const std::function<double(const LatencyHistogram&)>& sum) {
  double all = 0;
  double count = 0;
  for (const LatencyHistogram& batch : batches) {
    all += sum(batch);
    count += static_cast<double>(batch.count());
  }
  const auto size = static_cast<double>(batches.size());
  std::vector<double> residuals;
  for (const LatencyHistogram& batch : batches) {
    residuals.push_back(
        (sum(batch) - all / count * static_cast<double>(batch.count())) /
        (count / size));
  }
  const double inflation = VarianceInflation(residuals);
  const double degrees = InflatedDegrees(size, inflation);
  return {StudentQuantile(kChance, degrees) * SpreadOf(residuals).deviation *
              std::sqrt(inflation / size),
          degrees};
}

double Microseconds(uint64_t nanos) { return static_cast<double>(nanos) / 1e3; }

// The change over all values by least squares, and whether chance explains it.
struct Trend {
  double change = 0;
  bool is_chance = true;
};

Trend TrendOf(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = SpreadOf(values).mean;
  const double middle = (count - 1) / 2;
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(i) - middle;
    squares += off * off;
    products += off * (values[i] - mean);
  }
  const double slope = products / squares;
  double residuals = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = mean + slope * (static_cast<double>(i) - middle);
    residuals += (values[i] - expected) * (values[i] - expected);
  }
  const double error = std::sqrt(residuals / (count - 2) / squares);
  return {slope * (count - 1),
          std::abs(slope) <= StudentsT(kTrend, count - 2) * error};
}

double Seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

// Returns the trend of one value a slice where it is not by chance and over the
// window more than a fifth of `whole`, the value of the whole run.
std::optional<Trend> DriftOf(const std::vector<double>& values, double whole) {
  if (values.size() < kLeastBatches) {
    return std::nullopt;
  }
  const Trend trend = TrendOf(values);
  return trend.is_chance || std::abs(trend.change) <= kTrendAllowed * whole
             ? std::nullopt
             : std::optional(trend);
}

const char* WayOf(const Trend& trend) {
  return trend.change > 0 ? "up" : "down";
}

std::string MedianDrift(const LoadResult& load) {
  std::vector<double> medians;
  for (const LoadSlice& slice : load.slices) {
    if (slice.latency.count() > 0) {
      medians.push_back(Microseconds(slice.latency.Quantile(0.5)));
    }
  }
  const double median = Microseconds(load.latency.Quantile(0.5));
  const std::optional<Trend> trend = DriftOf(medians, median);
  return trend.has_value()
             ? absl::StrFormat(
                   "the median latency went %s by %.2f ms over the "
                   "window, of %.2f ms",
                   WayOf(*trend), std::abs(trend->change) / 1e3, median / 1e3)
             : "";
}

// Judges a closed loop, whose rate is the server's, by when its successes were
// sent. A server that works in fits and starts may change its rate and not its
// median. Slices without any count; those after an early end do not.
std::string RateDrift(const LoadResult& load) {
  if (load.slice <= Duration::zero()) {
    return "";
  }
  const auto whole = std::min(load.slices.size(),
                              static_cast<size_t>(load.window / load.slice));
  std::vector<double> rates;
  double sum = 0;
  for (size_t i = 0; i < whole; ++i) {
    rates.push_back(static_cast<double>(load.slices[i].latency.count()) /
                    Seconds(load.slice));
    sum += rates.back();
  }
  const double rate = whole > 0 ? sum / static_cast<double>(whole) : 0;
  const std::optional<Trend> trend = DriftOf(rates, rate);
  return trend.has_value()
             ? absl::StrFormat(
                   "the rate went %s by %.0f/s over the window, of %.0f/s",
                   WayOf(*trend), std::abs(trend->change), rate)
             : "";
}

}  // namespace

std::optional<Interval> MeanInterval(const LoadResult& load) {
  const auto batches = Batches(load, 1);
  if (batches.empty()) {
    return std::nullopt;
  }
  const Half half = HalfOf(batches, [](const LatencyHistogram& batch) {
    return static_cast<double>(batch.sum()) / 1e3;
  });
  const double mean = load.latency.mean() / 1e3;
  return Interval{std::max(mean - half.width, 0.0), mean + half.width,
                  half.degrees};
}

std::optional<Interval> QuantileInterval(const LoadResult& load, double q) {
  const auto batches = Batches(load, SamplesFor(q));
  if (batches.empty()) {
    return std::nullopt;
  }
  const size_t bucket = LatencyHistogram::BucketOf(load.latency.Quantile(q));
  const uint64_t last = LatencyHistogram::LowestOf(bucket + 1) - 1;
  const Half half = HalfOf(batches, [last](const LatencyHistogram& batch) {
    return static_cast<double>(batch.CountAtOrBelow(last));
  });
  const auto count = static_cast<double>(load.latency.count());
  const uint64_t low = load.latency.Quantile(std::max(q - half.width, 0.0));
  const uint64_t high =
      load.latency.Quantile(std::min(q + half.width, 1 - kAbove / count));
  return Interval{
      Microseconds(LatencyHistogram::LowestOf(LatencyHistogram::BucketOf(low))),
      Microseconds(
          LatencyHistogram::LowestOf(LatencyHistogram::BucketOf(high) + 1)),
      half.degrees};
}

uint64_t SamplesFor(double q) {
  return static_cast<uint64_t>(std::llround(kAbove / (1 - q)));
}

std::string Unsteadiness(const LoadResult& load) {
  if (load.backed_off > 0) {
    return absl::StrFormat(
        "the server was UNAVAILABLE: the client paused after %d of %d "
        "requests, so fewer were outstanding",
        load.backed_off, load.planned);
  }
  if (load.is_decided || load.is_offline) {
    return "";
  }
  if (std::string why = MedianDrift(load); !why.empty()) {
    return why;
  }
  if (!load.is_open) {
    return RateDrift(load);
  }
  if (const SentAndAnswered requests = CountAnswered(load);
      FellBehind(requests)) {
    return absl::StrFormat(
        "%.0f/s were sent and %.0f/s answered: the queue grew",
        load.offered_rate(), requests.answered / Seconds(load.window));
  }
  return "";
}

}  // namespace ferry::bench
