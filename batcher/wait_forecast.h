// WaitForecast tells a producer when its request could be answered, so that
// one that would miss its deadline is refused at the door and not admitted to
// expire.
//
// The batcher thread publishes what it knows; a producer adds what is queued
// ahead. Requests ahead form full batches, which take turns on the lanes.
//
// A forecast is believed for kTrust and two batches after the last one that it
// was learned from: what nobody has tried lately is tried, or one slow moment
// could close the door for good.
//
// Thread safety: Publish() from the batcher thread, FinishOf() from any. The
// numbers are stored one by one; a reader may see some of them a step older.
#ifndef FERRY_BATCHER_WAIT_FORECAST_H_
#define FERRY_BATCHER_WAIT_FORECAST_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "batcher/admission.h"
#include "batcher/clock.h"

namespace ferry {

class WaitForecast {
 public:
  static constexpr Duration kTrust = std::chrono::seconds(1);

  struct Facts {
    int32_t max_batch_size = 1;
    int32_t lanes = 1;
    int32_t open_batches = 0;    // shapes that are queued
    Duration full_batch{0};      // expected, of max_batch_size rows
    Duration own_batch_base{0};  // bound of a batch: base + rows * per row
    Duration own_batch_per_row{0};
    TimePoint lane_free_at = {};
    TimePoint believed_until = {};
    // Share of the device's time while the level has work; with several levels.
    std::array<double, kMaxLevels> taken_by_others = {};
  };

  void Publish(const Facts& facts);

  // What is queued before a request.
  struct Ahead {
    int64_t rows_of_level = 0;
    int64_t rows_up_to_level = 0;  // its own level and more urgent ones
  };

  // Returns when a request of `rows` would be answered, or `now` where there is
  // no forecast to believe.
  TimePoint FinishOf(int32_t level, const Ahead& ahead, int32_t rows,
                     TimePoint now) const;

 private:
  std::atomic<int32_t> max_batch_size_{1};
  std::atomic<int32_t> lanes_{1};
  std::atomic<int32_t> open_batches_{0};
  std::atomic<int64_t> full_batch_ns_{0};
  std::atomic<int64_t> base_ns_{0};
  std::atomic<int64_t> per_row_ns_{0};
  std::atomic<int64_t> lane_free_at_ns_{0};
  std::atomic<int64_t> believed_until_ns_{0};
  std::array<std::atomic<double>, kMaxLevels> taken_by_others_{};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_WAIT_FORECAST_H_
