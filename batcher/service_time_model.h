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
// which is counted as a drift.
//
// Thread safety: thread-compatible; the scheduler's.
#ifndef FERRY_BATCHER_SERVICE_TIME_MODEL_H_
#define FERRY_BATCHER_SERVICE_TIME_MODEL_H_

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
    int64_t last = 0;    // the batch that it learned from, as of batches_
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
  ServiceTimeLine line_;
  double line_deviation_ns_ = 0;
  int64_t batches_ = 0;  // learned from

  // Batches that were off one after the other, by about the same factor.
  struct Run {
    int length = 0;
    bool is_known = false;  // the size of one of them
    double last_ratio = 1;
    double sum_of_ratios = 0;
  };
  Run run_;
  uint64_t drift_count_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SERVICE_TIME_MODEL_H_
