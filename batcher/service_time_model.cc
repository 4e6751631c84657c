// Implements ServiceTimeModel: recursive least squares and moving averages.
#include "batcher/service_time_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "batcher/batch_buckets.h"

namespace ferry {
namespace {

constexpr double kForgetting = 0.995;  // a batch's weight after one more
constexpr double kPrior = 100;         // inverse correlation at the start
constexpr double kMaxTrace = 200;      // past it forgetting pauses
constexpr double kAverageWeight = 1.0 / 16;
constexpr int32_t kEnoughSamples = 20;
// The residuals of the first batches are not noise: the line is being found.
constexpr int32_t kFirstSamples = 8;
// What is off by more than so many deviations, and that share of the mean,
// counts as no more: one slow batch is no reason to expect slow ones.
constexpr double kMostDeviations = 4;
constexpr double kMostShare = 1.0 / 8;
// While few samples were seen the deviation is not known well: only what takes
// more than twice as long as expected, too, is off.
constexpr double kMostEarlyDeviations = 10;
constexpr double kDeviations = 3;
constexpr double kAgreeing = 2;  // what differs by less agrees

Duration Nanoseconds(double ns) { return Duration(std::llround(ns)); }

double Nanos(Duration time) { return static_cast<double>(ElapsedNanos(time)); }

// What is further off the mean is far off.
double Most(double deviations, double deviation_ns, double mean_ns) {
  return std::max(deviations * deviation_ns, kMostShare * mean_ns);
}

}  // namespace

ServiceTimeModel::ServiceTimeModel(int32_t max_rows,
                                   std::vector<int32_t> buckets)
    : buckets_(std::move(buckets)),
      max_rows_(max_rows),
      sizes_(static_cast<size_t>(max_rows) + 1),
      p00_(kPrior),
      p01_(0),
      p11_(kPrior) {}

void ServiceTimeModel::Learn(const ServiceTimeSample& sample) {
  const Estimate expected = EstimateOf(sample.rows);
  const double off_ns = Nanos(sample.took) - expected.mean_ns;
  if (std::abs(off_ns) <= MostOff(expected, off_ns)) {
    EndRun();
    LearnAsIs(sample);
    return;
  }
  const double ratio = RatioOf(sample);
  if (!Agrees(ratio)) {
    EndRun();
  }
  run_[run_length_++] = sample;
  last_ratio_ = ratio;
  if (run_length_ == kOffForDrift) {
    StartAfresh();
  }
}

double ServiceTimeModel::RatioOf(const ServiceTimeSample& sample) const {
  const double expected_ns = EstimateOf(sample.rows).mean_ns;
  return expected_ns > 0 ? Nanos(sample.took) / expected_ns : 1;
}

double ServiceTimeModel::MostOff(const Estimate& expected,
                                 double off_ns) const {
  const bool is_early = !expected.is_known && samples_ < kEnoughSamples;
  if (expected.mean_ns <= 0 ||
      (is_early && (samples_ <= kFirstSamples || off_ns <= expected.mean_ns))) {
    return std::numeric_limits<double>::infinity();
  }
  const double deviations = is_early ? kMostEarlyDeviations : kMostDeviations;
  return Most(deviations, expected.deviation_ns, expected.mean_ns);
}

// Whether it is off as the run is, in the same direction, too.
bool ServiceTimeModel::Agrees(double ratio) const {
  const double least = std::min(ratio, last_ratio_);
  const double most = std::max(ratio, last_ratio_);
  return (least > 1 || most < 1) && most < kAgreeing * least;
}

void ServiceTimeModel::EndRun() {
  for (size_t i = 0; i < run_length_; ++i) {
    LearnBounded(run_[i]);
  }
  run_length_ = 0;
}

// Sizes that never ran often enough to be known say nothing but that the line
// is wrong: then what is known of others stays.
void ServiceTimeModel::StartAfresh() {
  ++drift_count_;
  const bool is_size_known =
      std::any_of(run_.begin(), run_.end(),
                  [&](const auto& sample) { return IsKnown(sample.rows); });
  for (Size& size : sizes_) {
    if (is_size_known || size.samples < kEnoughSamples) {
      size = Size();
    }
  }
  ForgetLine();
  variance_ *= last_ratio_ * last_ratio_;
  for (const ServiceTimeSample& sample : run_) {
    LearnAsIs(sample);
  }
}

// The line itself stays, as what the next batches are likely to say.
void ServiceTimeModel::ForgetLine() {
  run_length_ = 0;
  p00_ = p11_ = kPrior;
  p01_ = 0;
  samples_ = 0;
}

void ServiceTimeModel::StartFrom(const ServiceTimeModel& other, double ratio) {
  ForgetLine();
  alpha_ns_ = other.alpha_ns_ * ratio;
  slope_ns_ = other.slope_ns_ * ratio;
  // Most of the other's deviations may be of other shapes.
  const double deviation_ns =
      std::min(std::sqrt(other.variance_) * ratio,
               kMostShare * (alpha_ns_ + slope_ns_ / 2));
  variance_ = deviation_ns * deviation_ns;
  std::fill(sizes_.begin(), sizes_.end(), Size());
}

void ServiceTimeModel::LearnBounded(const ServiceTimeSample& sample) {
  const Estimate expected = EstimateOf(sample.rows);
  const double off_ns = Nanos(sample.took) - expected.mean_ns;
  const double most_ns = MostOff(expected, off_ns);
  LearnAsIs({.rows = sample.rows,
             .took = Nanoseconds(expected.mean_ns +
                                 std::clamp(off_ns, -most_ns, most_ns))});
}

void ServiceTimeModel::LearnAsIs(const ServiceTimeSample& sample) {
  const int32_t rows = RowsThatRun(sample.rows);
  LearnLine(rows / max_rows_, Nanos(sample.took));
  LearnSize(sizes_[static_cast<size_t>(rows)], Nanos(sample.took));
}

int32_t ServiceTimeModel::RowsThatRun(int32_t rows) const {
  const int32_t padded = PaddedRows(buckets_, rows);
  Check(rows >= 1 && padded < std::ssize(sizes_),
        "a batch has 1 to max_rows rows");
  return padded;
}

void ServiceTimeModel::LearnLine(double x, double took_ns) {
  const double px0 = p00_ + p01_ * x;
  const double px1 = p01_ + p11_ * x;
  const double scale = 1 / (kForgetting + px0 + x * px1);
  const double residual = took_ns - (alpha_ns_ + slope_ns_ * x);
  LearnVariance(residual * residual);
  alpha_ns_ += px0 * scale * residual;
  slope_ns_ += px1 * scale * residual;
  p00_ -= px0 * px0 * scale;
  p01_ -= px0 * px1 * scale;
  p11_ -= px1 * px1 * scale;
  if ((p00_ + p11_) / kForgetting <= kMaxTrace) {
    p00_ /= kForgetting;
    p01_ /= kForgetting;
    p11_ /= kForgetting;
  }
  // Neither is negative: the other takes over what this sample says.
  if (slope_ns_ < 0) {
    alpha_ns_ += slope_ns_ * x;
    slope_ns_ = 0;
  }
  if (alpha_ns_ < 0) {
    slope_ns_ = std::max(0.0, slope_ns_ + alpha_ns_ / x);
    alpha_ns_ = 0;
  }
  alpha_ns_ = std::max(alpha_ns_, 0.0);
}

void ServiceTimeModel::LearnVariance(double squared) {
  samples_ = std::min(samples_ + 1, kEnoughSamples);
  if (samples_ > kFirstSamples) {
    variance_ = variance_ == 0
                    ? squared
                    : variance_ + kAverageWeight * (squared - variance_);
  }
}

void ServiceTimeModel::LearnSize(Size& size, double took_ns) {
  // The first samples count alike, so that none of them is the whole truth.
  const double weight = std::max(kAverageWeight, 1.0 / (size.samples + 1));
  double off = took_ns - size.mean_ns;
  if (size.samples >= kFirstSamples && size.mean_ns > 0) {
    const double most = Most(kMostDeviations, size.deviation_ns, size.mean_ns);
    off = std::clamp(off, -most, most);
  }
  const double before = size.samples == 0 ? 0 : std::abs(off);
  size.mean_ns += weight * off;
  size.deviation_ns += weight * (before - size.deviation_ns);
  size.samples = std::min(size.samples + 1, kEnoughSamples);
}

ServiceTimeLine ServiceTimeModel::line() const {
  return {.alpha_ns = alpha_ns_, .beta_ns = slope_ns_ / max_rows_};
}

double ServiceTimeModel::LineAt(int32_t rows_that_run) const {
  return alpha_ns_ + slope_ns_ * (rows_that_run / max_rows_);
}

ServiceTimeModel::Estimate ServiceTimeModel::EstimateOf(int32_t rows) const {
  const int32_t that_run = RowsThatRun(rows);
  const Size& size = sizes_[static_cast<size_t>(that_run)];
  if (size.samples == kEnoughSamples) {
    return {size.mean_ns, size.deviation_ns, /*is_known=*/true};
  }
  return {LineAt(that_run), std::sqrt(variance_), /*is_known=*/false};
}

Duration ServiceTimeModel::Expected(int32_t rows) const {
  return Nanoseconds(EstimateOf(rows).mean_ns);
}

Duration ServiceTimeModel::Bound(int32_t rows) const {
  const Estimate estimate = EstimateOf(rows);
  return Nanoseconds(estimate.mean_ns + kDeviations * estimate.deviation_ns);
}

}  // namespace ferry
