// Recursive least squares of two coefficients, and moving averages.
#include "batcher/service_time_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "batcher/batch_buckets.h"
#include "batcher/check.h"

namespace ferry {
namespace {

constexpr double kForgetting = 0.995;  // a batch's weight after one more
constexpr double kPrior = 100;         // inverse correlation at the start
constexpr double kMaxTrace = 200;      // past it forgetting pauses
constexpr double kAverageWeight = 1.0 / 16;
constexpr int32_t kEnoughSamples = 20;
// The residuals of the first batches are not noise: the line is being found.
constexpr int32_t kFirstSamples = 8;
// What is off counts as no more than that many deviations, or that share of the
// mean: one slow batch is no reason to expect slow ones.
constexpr double kClippedDeviations = 4;
constexpr double kClippedShare = 1.0 / 8;
constexpr double kDeviations = 3;
constexpr double kOutlierDeviations = 4;
// While few samples were seen the deviation is not known well: only what takes
// more than twice as long as expected, too, is one.
constexpr double kEarlyOutlierDeviations = 10;
constexpr int32_t kOutliersForDrift = 5;
constexpr double kAgreeing = 2;  // outliers that differ by less agree

Duration Nanoseconds(double ns) { return Duration(std::llround(ns)); }

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
  const int32_t rows = RowsThatRun(sample.rows);
  const auto took_ns = static_cast<double>(ElapsedNanos(sample.took));
  const double expected_ns = LineAt(rows);
  if (IsOutlier(took_ns - expected_ns, expected_ns)) {
    return;  // one alone says nothing of the next batch
  }
  LearnLine(rows / max_rows_, took_ns);
  LearnSize(sizes_[static_cast<size_t>(rows)], took_ns);
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

void ServiceTimeModel::LearnSize(Size& size, double took_ns) {
  // The first samples count alike, so that none of them is the whole truth.
  const double weight = std::max(kAverageWeight, 1.0 / (size.samples + 1));
  double off = took_ns - size.mean_ns;
  if (size.samples >= kFirstSamples) {
    const double most = std::max(kClippedDeviations * size.deviation_ns,
                                 kClippedShare * size.mean_ns);
    off = std::clamp(off, -most, most);
  }
  const double before = size.samples == 0 ? 0 : std::abs(off);
  size.mean_ns += weight * off;
  size.deviation_ns += weight * (before - size.deviation_ns);
  size.samples = std::min(size.samples + 1, kEnoughSamples);
}

// One after the other that are off alike.
void ServiceTimeModel::CountOutlier(bool is_outlier, double residual_ns) {
  const double least = std::min(residual_ns, last_outlier_ns_);
  const double most = std::max(residual_ns, last_outlier_ns_);
  const bool agrees = least > 0 ? most < kAgreeing * least
                                : most < 0 && least > kAgreeing * most;
  if (!is_outlier) {
    outliers_in_a_row_ = 0;
  } else {
    outliers_in_a_row_ =
        outliers_in_a_row_ > 0 && agrees ? outliers_in_a_row_ + 1 : 1;
    last_outlier_ns_ = residual_ns;
  }
}

bool ServiceTimeModel::IsOutlier(double residual_ns, double expected_ns) {
  const double squared = residual_ns * residual_ns;
  const bool is_early = samples_ < kEnoughSamples;
  const double most = is_early ? kEarlyOutlierDeviations : kOutlierDeviations;
  const bool is_outlier = samples_ > kFirstSamples &&
                          squared > most * most * variance_ &&
                          (!is_early || residual_ns > expected_ns);
  CountOutlier(is_outlier, residual_ns);
  if (outliers_in_a_row_ >= kOutliersForDrift) {
    p00_ = p11_ = kPrior;
    p01_ = 0;
    samples_ = 0;
    outliers_in_a_row_ = 0;
    ++drift_count_;
    std::fill(sizes_.begin(), sizes_.end(), Size());
    return false;
  }
  if (is_outlier) {
    return true;
  }
  samples_ = std::min(samples_ + 1, kEnoughSamples);
  if (samples_ > kFirstSamples) {
    variance_ = variance_ == 0
                    ? squared
                    : variance_ + kAverageWeight * (squared - variance_);
  }
  return false;
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
