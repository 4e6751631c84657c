// WaitForecast tells a producer when its request could be answered, so that
// one that would miss its deadline is refused at the door and not admitted to
// expire.
//
// The stepper publishes what it knows; a producer adds what is queued
// ahead. Requests ahead form full batches, which take turns on the lanes.
//
// Of its own batch a request is promised a time that few batches pass, but that
// care takes at most a quarter of the time that it has to spare: where service
// times vary as much as deadlines are long, nobody would be let in, and the
// device would idle.
//
// A forecast is believed for kTrust and eight batches after one was started:
// what nobody has tried lately is tried, or one slow moment could close the
// door for good. From then on an answer takes as long as that of the fastest
// batch ever. Who has less time than that is refused, too; but each kTrial-th
// of these is tried, as the device may have become faster. So is each kTrial-th
// of a shape that has not run lately, or has no times of its own; but one at a
// time, since others wait meanwhile.
//
// Thread safety: Publish() from the stepper, the others from any. The
// numbers are stored one by one; a reader may see some of them a step older,
// and a shape that has just taken another's place with that one's times.
#ifndef FERRY_BATCHER_WAIT_FORECAST_H_
#define FERRY_BATCHER_WAIT_FORECAST_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "batcher/admission.h"
#include "batcher/clock.h"
#include "batcher/service_times.h"

namespace ferry {

class WaitForecast {
 public:
  static constexpr Duration kTrust = std::chrono::milliseconds(10);
  static constexpr uint32_t kTrial = 16;

  // Of a request's own batch: what is expected, and how much longer it takes
  // where few take longer.
  struct OwnTimes {
    Duration one_row{0};
    Duration full{0};
    Duration one_row_care{0};
    Duration full_care{0};
  };
  struct ShapeTimes {
    uint64_t shape_key = 0;
    OwnTimes own = {};
    // Expected, of the batch that what is queued of it does not fill, by
    // level: Facts::Level::fragments has it, too.
    std::array<Duration, kMaxLevels> last = {};
    TimePoint believed_until = {};
  };

  struct Facts {
    int32_t lanes = 1;
    int32_t idle_lanes = 0;
    bool batch_waits = false;  // for a lane; the next that is free is its
    // Rows of a full batch, as requests come now: less than max_batch_size
    // where a batch is full in requests before.
    int32_t full_rows = 1;
    Duration full_batch{0};  // expected
    OwnTimes own;            // where its shape is not one of these
    absl::Span<const ShapeTimes> shapes = {};  // kMaxShapes at most
    bool shapes_differ = false;                // more came than one
    TimePoint lane_free_at = {};
    TimePoint believed_until = {};
    Duration fastest{0};  // batch there ever was
    // By level.
    struct Level {
      // Share of the device's time that others take while the level has work.
      double taken_by_others = 0;
      // What batches of this level and more urgent ones take longer than full
      // ones of the same rows: each shape's last one is not full.
      Duration fragments{0};
      double stretch = 0;  // WaitStretch
      int64_t delayed_rows = 0;
    };
    std::array<Level, kMaxLevels> levels = {};
  };

  void Publish(const Facts& facts, int32_t levels);

  // What is queued before a request, and what a producer knows of the lanes.
  struct Ahead {
    int64_t rows_of_level = 0;
    int64_t rows_up_to_level = 0;  // its own level and more urgent ones
    // A batch has ended since the facts were published.
    bool lane_has_ended = false;
  };

  struct Own {
    int32_t rows = 1;
    uint64_t shape_key = 0;
    TimePoint due = kNever;
  };

  // Rows of the level that a request in time overtakes.
  int64_t DelayedRows(int32_t level) const {
    return levels_[static_cast<size_t>(level)].delayed_rows.load(
        std::memory_order_relaxed);
  }

  // Returns when a request would be answered, with care; where there is no
  // forecast to believe, when it would be at the earliest.
  TimePoint FinishOf(int32_t level, const Ahead& ahead, const Own& own,
                     TimePoint now) const;

  // Of a request that would be answered too late: whether it is tried all the
  // same.
  bool IsTrial(uint64_t shape_key, TimePoint now);

 private:
  // Numbers of OwnTimes.
  struct Times {
    std::atomic<double> one_row_ns{0};
    std::atomic<double> full_ns{0};
    std::atomic<double> one_row_care_ns{0};
    std::atomic<double> full_care_ns{0};
  };
  struct Shape {
    std::atomic<uint64_t> key{0};
    std::atomic<int64_t> believed_until_ns{0};
    Times own;
    std::array<std::atomic<double>, kMaxLevels> last_ns = {};
  };

  static void Store(const OwnTimes& own, Times& times);
  // Null: it has no times of its own.
  const Shape* Find(uint64_t shape_key) const;
  bool IsBelieved(TimePoint now) const;

  struct Level {
    std::atomic<double> share{1};
    std::atomic<double> fragments_ns{0};
    std::atomic<double> stretch{0};
    std::atomic<int64_t> delayed_rows{0};
  };

  std::atomic<int32_t> lanes_{1};
  std::atomic<int32_t> idle_lanes_{0};
  std::atomic<bool> batch_waits_{false};
  std::atomic<int32_t> full_rows_{1};
  std::atomic<double> full_batch_ns_{0};
  Times own_;
  std::array<Shape, ServiceTimes::kMaxShapes> shapes_;
  std::atomic<size_t> shape_count_{0};
  std::atomic<bool> shapes_differ_{false};
  std::atomic<int64_t> lane_free_at_ns_{0};
  std::atomic<int64_t> believed_until_ns_{0};
  std::atomic<int64_t> fastest_ns_{0};
  std::atomic<int64_t> next_trial_ns_{0};
  // Requests, by IsTrial(); of shapes by their keys, some together.
  std::array<std::atomic<uint32_t>, kTrial> doubted_ = {};
  std::array<Level, kMaxLevels> levels_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WAIT_FORECAST_H_
