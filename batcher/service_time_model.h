// ServiceTimeModel learns how long a batch takes, s(b), from batches that ran.
//
// Two estimates. A line, s(b) = alpha + beta * b, by recursive least squares
// with forgetting (Haykin, Adaptive Filter Theory, ch. 9): it speaks of sizes
// that were never run. A table by rows, moving averages of the time and of its
// deviation: it knows the steps between sizes that a line cannot, and wins
// where it has seen enough.
//
// Where batches are padded to buckets, a size means the bucket that runs: the
// caller gives the rows of the batch, and RowsThatRun() is the one place that
// pads them. The bucket itself may be given as well.
//
// Batches of one size only say nothing about beta: then forgetting pauses, so
// that noise does not become a slope. What is far off counts as a few
// deviations (Huber, Robust Estimation of a Location Parameter, 1964), and
// makes these larger: so one slow batch changes little, and times that stay off
// are learned whatever they are. Five in a row that are off by about the same
// factor mean that the device has changed its speed (clocks, a neighbour): it
// starts afresh with these, which is counted. Until such a run has ended
// nothing of it is learned, so that it is judged by what was known before.
//
// Thread safety: thread-compatible; the scheduler's.
#ifndef FERRY_BATCHER_SERVICE_TIME_MODEL_H_
#define FERRY_BATCHER_SERVICE_TIME_MODEL_H_

#include <array>
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

class ServiceTimeModel {
 public:
  // Batches have 1 to `max_rows` rows and are padded to `buckets`.
  explicit ServiceTimeModel(int32_t max_rows,
                            std::vector<int32_t> buckets = {});

  // --- below: REQUIRES: 1 to max_rows rows ---
  void Learn(const ServiceTimeSample& sample);

  // What the sample took, to what is expected of it; 1 where nothing is.
  double RatioOf(const ServiceTimeSample& sample) const;

  // Forgets all, and takes the line of `other` times that.
  void StartFrom(const ServiceTimeModel& other, double ratio);

  // The rows that run where a batch has `rows`.
  int32_t RowsThatRun(int32_t rows) const;

  // The line over the rows that run. All zero before anything was learned.
  ServiceTimeLine line() const;

  // The expected time, and one that few batches pass: the expected time and
  // three deviations.
  Duration Expected(int32_t rows) const;
  Duration Bound(int32_t rows) const;

  // Whether batches of that size ran often enough for a time of their own.
  bool IsKnown(int32_t rows) const { return EstimateOf(rows).is_known; }

  // How often the line started afresh.
  uint64_t drift_count() const { return drift_count_; }

 private:
  struct Size {
    double mean_ns = 0;
    double deviation_ns = 0;
    int32_t samples = 0;  // counts to kEnoughSamples
  };

  // A batch has the estimate of its size where it is known, else the line's.
  struct Estimate {
    double mean_ns;
    double deviation_ns;
    bool is_known;
  };

  static constexpr size_t kOffForDrift = 5;

  Estimate EstimateOf(int32_t rows) const;
  // How far off the estimate a batch counts as it is.
  double MostOff(const Estimate& expected, double off_ns) const;
  bool Agrees(double ratio) const;
  void EndRun();
  void StartAfresh();
  void ForgetLine();
  // As it is, or no more off than MostOff().
  void LearnAsIs(const ServiceTimeSample& sample);
  void LearnBounded(const ServiceTimeSample& sample);
  void LearnLine(double x, double took_ns);
  void LearnVariance(double squared);
  void LearnSize(Size& size, double took_ns);
  double LineAt(int32_t rows_that_run) const;

  std::vector<int32_t> buckets_;
  double max_rows_;
  std::vector<Size> sizes_;  // [rows that run]

  // They apply to rows / max_rows, so that both have one scale.
  double alpha_ns_ = 0;
  double slope_ns_ = 0;
  double p00_, p01_, p11_;  // inverse correlation, symmetric

  double variance_ = 0;  // of the residual, ns^2
  int32_t samples_ = 0;  // counts to kEnoughSamples
  // Batches that were off one after the other, by about the same factor.
  std::array<ServiceTimeSample, kOffForDrift> run_;
  size_t run_length_ = 0;
  double last_ratio_ = 1;  // of the last of them
  uint64_t drift_count_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SERVICE_TIME_MODEL_H_
