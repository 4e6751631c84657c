// ServiceTimeModel learns how long a batch takes, s(b); ServiceTimes has one
// for all shapes and one for each that came lately.
//
// Thread safety: thread-compatible; the scheduler's.
#ifndef FERRY_BATCHER_SERVICE_TIME_H_
#define FERRY_BATCHER_SERVICE_TIME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace ferry {

// s(b) = alpha + beta * b for a batch of b rows; both >= 0.
struct ServiceTimeLine {
  double alpha_ns = 0;
  double beta_ns = 0;
};

// One batch that ran.
struct ServiceTimeSample {
  int32_t rows = 1;
  Duration took{0};
};

// ServiceTimeModel learns how long a batch takes, s(b), from batches that ran.
//
// Each size that ran has moving averages of its time and of its deviation. A
// size that ran often has these as its estimate; the others have a line,
// s(b) = alpha + beta * b, the least-squares fit through the averages. A size
// weighs less the longer ago it ran, so that one slow start is forgotten, but
// never nothing, so that one size alone does not turn its noise into a slope.
//
// Where batches are padded to buckets, a size means the bucket that runs: the
// caller gives the rows of the batch, and RowsThatRun() is the one place that
// pads them. The bucket itself may be given as well.
//
// A time that is far off counts as a few deviations (Huber, Robust Estimation
// of a Location Parameter, 1964) and makes these larger: so one slow batch
// changes little, and times that stay off are learned whatever they are. Five
// in a row that are off by about the same factor mean that the device has
// changed its speed (clocks, a neighbour): what is known is multiplied by it,
// which is counted as a drift. The factor is to what these sizes took when they
// were first known, so that errors of many drifts do not multiply.
class ServiceTimeModel {
 public:
  // Batches have 1 to `max_rows` rows and are padded to `buckets`.
  explicit ServiceTimeModel(int32_t max_rows,
                            std::vector<int32_t> buckets = {});

  // --- below: REQUIRES: 1 to max_rows rows ---
  void Learn(const ServiceTimeSample& sample);

  // What the sample took, to what is expected of it; 1 where nothing is.
  double RatioOf(const ServiceTimeSample& sample) const;

  // Forgets all, and takes the line of `other` times that, until batches say
  // more.
  void StartFrom(const ServiceTimeModel& other, double ratio);

  // The rows that run where a batch has `rows`.
  int32_t RowsThatRun(int32_t rows) const;

  // The line over the rows that run. All zero before anything was learned.
  ServiceTimeLine line() const { return line_; }

  // The expected time, and one that few batches pass: the expected time and
  // three deviations.
  Duration Expected(int32_t rows) const;
  Duration Bound(int32_t rows) const;

  // Whether batches of that size ran often enough for a time of their own.
  bool IsKnown(int32_t rows) const { return EstimateOf(rows).is_known; }

  uint64_t drift_count() const { return drift_count_; }

 private:
  struct Size {
    double mean_ns = 0;
    double deviation_ns = 0;
    double samples = 0;  // counts to kEnoughSamples
    double base_ns = 0;  // its mean when it was known first, at speed_ 1; or 0
    int64_t last = 0;    // the batch that it learned from, as of batches_
    int32_t next = 0;    // another size that is known of; 0: none
  };

  struct Estimate {
    double mean_ns;
    double deviation_ns;
    bool is_known;
  };

  Estimate EstimateOf(int32_t rows) const;
  // How far off the estimate a batch counts as it is.
  double MostOff(const Estimate& expected) const;
  void LearnAs(int32_t rows_that_run, double took_ns);
  void FitLine();
  // The device has changed its speed; `sample` is the last of run_.
  void Drift(const ServiceTimeSample& sample);
  double LineAt(int32_t rows_that_run) const {
    return line_.alpha_ns + line_.beta_ns * rows_that_run;
  }

  std::vector<int32_t> buckets_;
  std::vector<Size> sizes_;  // [rows that run]
  int32_t first_ = 0;        // of those that are known of
  ServiceTimeLine line_;
  double line_deviation_ns_ = 0;
  int64_t batches_ = 0;  // learned from

  // Batches that were off one after the other, by about the same factor.
  struct Run {
    int length = 0;
    bool is_known = false;  // the size of one of them
    double last_ratio = 1;
    double sum_of_scales = 0;  // of what speed_ was
  };
  Run run_;
  double speed_ = 1;  // times are so many times what they were
  uint64_t drift_count_ = 0;
};

// ServiceTimes knows how long batches take, of all shapes and of each that came
// lately. Where rows may differ in size, a batch of long ones can take many
// times that of short ones, and an average of both is neither's.
//
// A shape begins as a multiple of what is known of all: the least that three
// batches say, and not its first, which may have built kernels. From its
// kEnough-th batch on it speaks for itself; before, and where more shapes come
// at once than there are places, all speak. While no two shapes came there is
// nothing but all.
//
// Allocates for each of the first kMaxShapes shapes, and nothing after.
class ServiceTimes {
 public:
  static constexpr size_t kMaxShapes = 16;
  static constexpr int32_t kFirst = 4;    // batches that say how it begins
  static constexpr int32_t kEnough = 12;  // batches

  // `max_rows` and `buckets` are those of each ServiceTimeModel.
  ServiceTimes(int32_t max_rows, const std::vector<int32_t>& buckets);

  // `shape_key` as of InferRequest; 0: of no shape, as in warm-up.
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);

  // A batch of that shape was started.
  void Tried(uint64_t shape_key, TimePoint now);

  const ServiceTimeModel& all() const { return all_; }
  // That of the shape, or that of all.
  const ServiceTimeModel& Of(uint64_t shape_key) const;

  // Whether more than one shape came.
  bool shapes_differ() const { return shapes_.size() > 1; }

  struct Shape {
    uint64_t key;
    ServiceTimeModel model;
    int32_t batches = 0;
    double least_ratio = 0;  // of its first ones, to what all expect
    uint64_t last_learned = 0;
    TimePoint tried_at = TimePoint::min();
  };

  // Calls visit(shape) for those that speak for themselves.
  template <typename Visit>
  void VisitShapes(const Visit& visit) const {
    for (const Shape& shape : shapes_) {
      if (IsHeard(shape)) {
        visit(shape);
      }
    }
  }

 private:
  bool IsHeard(const Shape& shape) const {
    return shapes_differ() && shape.batches >= kEnough;
  }
  // Returns the shape's own place, a free one, or that of the shape that was
  // not seen for the longest.
  Shape& PlaceOf(uint64_t shape_key);

  const ServiceTimeModel none_;  // nothing was learned
  ServiceTimeModel all_;
  std::vector<Shape> shapes_;
  uint64_t learned_ = 0;  // batches of shapes
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SERVICE_TIME_H_
