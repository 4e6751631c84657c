// Implements ServiceTimeModel, moving averages and a line through them, and
// ServiceTimes, which says how a shape begins.
#include "batcher/service_time.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "batcher/batch_buckets.h"

namespace ferry {
namespace {

constexpr double kAverageWeight = 1.0 / 16;
constexpr double kEnoughSamples = 20;
// The first batches are learned as they are: there is no line to be off from.
constexpr int64_t kFirstBatches = 8;
constexpr int64_t kEarlyBatches = 20;
constexpr double kHalfLife = 200;  // batches until a size weighs half
constexpr double kPriorSamples = 0.1;
// What is off by more than so many deviations, and that share of the mean,
// counts as no more. While little is known only what takes more than twice as
// long as expected is off.
constexpr double kMostDeviations = 4;
constexpr double kMostShare = 1.0 / 8;
constexpr double kMostEarlyShare = 1;
constexpr double kDeviations = 3;
constexpr int kOffForDrift = 5;
constexpr double kMostSpeed = 1e4;  // and its inverse: times are never 0
constexpr double kAgreeing = 2;     // what differs by less agrees

Duration Nanoseconds(double ns) { return Duration(std::llround(ns)); }

double Nanos(Duration time) { return static_cast<double>(ElapsedNanos(time)); }

// Whether both are off in the same direction and by about the same factor.
bool Agree(double ratio, double other) {
  const auto [least, most] = std::minmax(ratio, other);
  return (least > 1 || most < 1) && most < kAgreeing * least;
}

}  // namespace

ServiceTimeModel::ServiceTimeModel(int32_t max_rows,
                                   std::vector<int32_t> buckets)
    : buckets_(std::move(buckets)), sizes_(static_cast<size_t>(max_rows) + 1) {}

void ServiceTimeModel::Learn(const ServiceTimeSample& sample) {
  const Estimate expected = EstimateOf(sample.rows);
  const double off_ns = Nanos(sample.took) - expected.mean_ns;
  const double most_ns = MostOff(expected);
  const double ratio = RatioOf(sample);
  LearnAs(RowsThatRun(sample.rows),
          expected.mean_ns + std::clamp(off_ns, -most_ns, most_ns));
  if (std::abs(off_ns) <= most_ns) {
    run_ = Run();
    return;
  }
  if (!Agree(ratio, run_.last_ratio)) {
    run_ = Run();
  }
  const Size& size = sizes_[static_cast<size_t>(RowsThatRun(sample.rows))];
  ++run_.length;
  run_.is_known = run_.is_known || size.base_ns > 0;
  run_.last_ratio = ratio;
  run_.sum_of_scales +=
      size.base_ns > 0 ? Nanos(sample.took) / (size.base_ns * speed_) : ratio;
  if (run_.length == kOffForDrift) {
    Drift(sample);
  }
}

double ServiceTimeModel::RatioOf(const ServiceTimeSample& sample) const {
  const double expected_ns = EstimateOf(sample.rows).mean_ns;
  return expected_ns > 0 ? Nanos(sample.took) / expected_ns : 1;
}

double ServiceTimeModel::MostOff(const Estimate& expected) const {
  const bool is_early = !expected.is_known && batches_ < kEarlyBatches;
  if (expected.mean_ns <= 0 || (is_early && batches_ <= kFirstBatches)) {
    return std::numeric_limits<double>::max();
  }
  return std::max(kMostDeviations * expected.deviation_ns,
                  (is_early ? kMostEarlyShare : kMostShare) * expected.mean_ns);
}

// Sizes that never ran often enough to be known say nothing but that the line
// is wrong: then what is known of others stays.
void ServiceTimeModel::Drift(const ServiceTimeSample& sample) {
  ++drift_count_;
  const double scale = std::clamp(run_.sum_of_scales / run_.length,
                                  1 / kMostSpeed / speed_, kMostSpeed / speed_);
  for (Size& size : sizes_) {
    if (run_.is_known || size.samples < kEnoughSamples) {
      size.mean_ns *= scale;
      size.deviation_ns *= scale;
    }
  }
  speed_ *= run_.is_known ? scale : 1;
  line_deviation_ns_ *= scale;
  FitLine();
  run_ = Run();
  const int32_t rows = RowsThatRun(sample.rows);
  sizes_[static_cast<size_t>(rows)].samples = 0;
  LearnAs(rows, Nanos(sample.took));
}

void ServiceTimeModel::StartFrom(const ServiceTimeModel& other, double ratio) {
  std::fill(sizes_.begin(), sizes_.end(), Size());
  first_ = 0;
  run_ = Run();
  speed_ = 1;
  batches_ = 0;
  const auto max_rows = static_cast<int32_t>(std::ssize(sizes_) - 1);
  for (const int32_t rows : {RowsThatRun(1), RowsThatRun(max_rows)}) {
    Size& size = sizes_[static_cast<size_t>(rows)];
    if (size.samples == 0) {
      size = {.mean_ns = ratio * other.LineAt(rows),
              .samples = kPriorSamples,
              .next = std::exchange(first_, rows)};
    }
  }
  FitLine();
  // Most of the other's deviations may be of other shapes.
  line_deviation_ns_ = std::min(ratio * other.line_deviation_ns_,
                                kMostShare * LineAt(max_rows / 2));
}

void ServiceTimeModel::LearnAs(int32_t rows_that_run, double took_ns) {
  if (++batches_ > kFirstBatches) {
    const double off_ns = std::abs(took_ns - LineAt(rows_that_run));
    line_deviation_ns_ += kAverageWeight * (off_ns - line_deviation_ns_);
  }
  Size& size = sizes_[static_cast<size_t>(rows_that_run)];
  if (size.samples == 0 && size.last == 0) {
    size.next = std::exchange(first_, rows_that_run);
  }
  // The first samples count alike, so that none of them is the whole truth.
  const double weight = std::max(kAverageWeight, 1 / (size.samples + 1));
  const double off_ns = took_ns - size.mean_ns;
  size.mean_ns += weight * off_ns;
  size.deviation_ns +=
      weight * ((size.samples == 0 ? 0 : std::abs(off_ns)) - size.deviation_ns);
  size.samples = std::min(size.samples + 1, kEnoughSamples);
  size.last = batches_;
  if (size.base_ns == 0 && size.samples == kEnoughSamples) {
    size.base_ns = size.mean_ns / speed_;
  }
  FitLine();
}

// Least squares, weighted, and neither coefficient negative.
void ServiceTimeModel::FitLine() {
  double sum = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (int32_t rows = first_; rows != 0;) {
    const Size& size = sizes_[static_cast<size_t>(rows)];
    const auto age = static_cast<double>(batches_ - size.last);
    const double weight = size.samples / (1 + age / kHalfLife);
    const auto x = static_cast<double>(rows);
    sum += weight;
    sum_x += weight * x;
    sum_y += weight * size.mean_ns;
    sum_xx += weight * x * x;
    sum_xy += weight * x * size.mean_ns;
    rows = size.next;
  }
  const double spread = sum * sum_xx - sum_x * sum_x;
  const bool has_slope = spread > 1e-9 * sum * sum_xx;  // of several sizes
  line_.beta_ns = has_slope ? (sum * sum_xy - sum_x * sum_y) / spread : 0;
  line_.beta_ns = std::max(line_.beta_ns, 0.0);
  line_.alpha_ns = (sum_y - line_.beta_ns * sum_x) / sum;
  if (line_.alpha_ns < 0) {
    line_ = {.alpha_ns = 0, .beta_ns = sum_xy / sum_xx};
  }
}

int32_t ServiceTimeModel::RowsThatRun(int32_t rows) const {
  const int32_t padded = PaddedRows(buckets_, rows);
  Check(rows >= 1 && padded < std::ssize(sizes_),
        "a batch has 1 to max_rows rows");
  return padded;
}

ServiceTimeModel::Estimate ServiceTimeModel::EstimateOf(int32_t rows) const {
  const int32_t that_run = RowsThatRun(rows);
  const Size& size = sizes_[static_cast<size_t>(that_run)];
  if (size.samples == kEnoughSamples) {
    return {size.mean_ns, size.deviation_ns, /*is_known=*/true};
  }
  return {LineAt(that_run), line_deviation_ns_, /*is_known=*/false};
}

Duration ServiceTimeModel::Expected(int32_t rows) const {
  return Nanoseconds(EstimateOf(rows).mean_ns);
}

Duration ServiceTimeModel::Bound(int32_t rows) const {
  const Estimate estimate = EstimateOf(rows);
  return Nanoseconds(estimate.mean_ns + kDeviations * estimate.deviation_ns);
}

// --- by shape ----------------------------------------------------------------

ServiceTimes::ServiceTimes(int32_t max_rows,
                           const std::vector<int32_t>& buckets)
    : none_(max_rows, buckets), all_(none_) {
  shapes_.reserve(kMaxShapes);
}

void ServiceTimes::Learn(const ServiceTimeSample& sample, uint64_t shape_key) {
  if (shape_key != 0) {
    Shape& shape = PlaceOf(shape_key);
    shape.last_learned = ++learned_;
    ++shape.batches;
    if (shape.batches > kFirst) {
      shape.model.Learn(sample);
    } else if (shape.batches > 1) {
      const double ratio = all_.RatioOf(sample);
      shape.least_ratio =
          shape.batches == 2 ? ratio : std::min(shape.least_ratio, ratio);
      shape.model.StartFrom(all_, shape.least_ratio);
    }
  }
  all_.Learn(sample);
}

void ServiceTimes::Tried(uint64_t shape_key, TimePoint now) {
  const auto shape = std::ranges::find(shapes_, shape_key, &Shape::key);
  if (shape != shapes_.end()) {
    shape->tried_at = now;
  }
}

const ServiceTimeModel& ServiceTimes::Of(uint64_t shape_key) const {
  const auto shape = std::ranges::find(shapes_, shape_key, &Shape::key);
  return shape != shapes_.end() && IsHeard(*shape) ? shape->model : all_;
}

ServiceTimes::Shape& ServiceTimes::PlaceOf(uint64_t shape_key) {
  const auto own = std::ranges::find(shapes_, shape_key, &Shape::key);
  if (own != shapes_.end()) {
    return *own;
  }
  if (shapes_.size() < kMaxShapes) {
    return shapes_.emplace_back(Shape{.key = shape_key, .model = none_});
  }
  Shape& place = *std::ranges::min_element(shapes_, {}, &Shape::last_learned);
  place.key = shape_key;
  place.batches = 0;
  place.tried_at = TimePoint::min();
  return place;
}

}  // namespace ferry
