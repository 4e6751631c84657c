// Batch: requests that cross to the device together.
//
// Life of a batch: open while the stepper adds requests; closed when it
// is handed to the backend; resolved when each request has ended; then back in
// the batcher's pool. It is monotonic: nothing joins or leaves a closed batch.
// Batches are made at start and reused: no allocation in steady state.
//
// Thread safety: thread-compatible. A batch has one owner at a time (it travels
// as a unique_ptr), so it needs no lock. What is marked `any
// thread` below is atomic.
#ifndef FERRY_BATCHER_BATCH_H_
#define FERRY_BATCHER_BATCH_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "batcher/close_reason.h"
#include "batcher/infer_request.h"
#include "batcher/output_buffer.h"
#include "batcher/reply_burst.h"
#include "batcher/statistics.h"

namespace ferry {

class Batch {
 public:
  struct Entry {
    InferRequest* request;  // null once it has ended
    TimePoint arrival;
    TimePoint due;
    int32_t first_row;
    int32_t rows;
    int32_t level;
    bool is_trial;
  };

  struct Times {
    TimePoint closed;
    TimePoint lane_begin;  // it has a lane, which may stage it first
    // What gather and copy in took where that needs no lane, else 0.
    Duration staging{0};
    TimePoint compute_begin;
    TimePoint compute_end;
    bool holds_lane = false;  // until its replies are delivered
    TimePoint delivered;
  };

  // `max_requests` and `max_rows` bound what it ever holds.
  Batch(int32_t max_requests, int32_t max_rows);

  // --- open: the stepper ---
  void Add(InferRequest& request);
  void Close(TimePoint now, CloseReason reason);

  // --- closed: the backend ---
  absl::Span<const Entry> entries() const { return entries_; }
  int32_t rows() const { return rows_; }
  size_t bytes() const { return bytes_; }            // of all inputs received
  uint64_t shape_key() const { return shape_key_; }  // of each request

  // Shape of one row of an input, padded where it is; the same for every
  // request of the batch.
  absl::Span<const int64_t> row_dims(size_t input) const {
    return entries_.front().request->inputs[input].batch_dims();
  }

  // Whether its requests bring that input; all do, or none does.
  bool is_given(size_t input) const {
    return entries_.front().request->inputs[input].is_given;
  }

  // Whether some of its requests are parts of larger ones (SplitRequest).
  bool has_parts() const;

  // Sets what the requests will be told. `output` holds rows() rows when the
  // outcome is ok and is empty otherwise.
  void SetResult(Outcome outcome, OutputRef output);

  Times& times() { return times_; }
  const Times& times() const { return times_; }
  int32_t lane() const { return lane_; }
  // Which it was of those started; where their order matters.
  int64_t sequence() const { return sequence_; }
  void set_sequence(int64_t sequence) { sequence_ = sequence; }
  // The lane begins with it: from now on it stages it, waits for its turn at
  // the device, and computes.
  void TakeLane(int32_t lane, TimePoint now) {
    lane_ = lane;
    times_.lane_begin = now;
    on_lane_since_nanos_.store(ToNanos(now), std::memory_order_relaxed);
  }

  // --- resolved: whoever finishes it ---
  bool succeeded() const { return outcome_.ok(); }

  // Counts, then ends each request with its own rows or the batch's error.
  // `burst`, or null, is told where several do, none of them a part of a larger
  // one.
  void Resolve(const Clock& clock, ReplyBurst* burst = nullptr);

  // Makes it open and empty again. REQUIRES: open and empty, or resolved.
  void Clear();

  // --- any thread ---
  // Whether it is closed and not yet resolved.
  bool running() const { return running_.load(std::memory_order_relaxed); }
  // When a lane took it; kNever before that and after it was resolved.
  TimePoint on_lane_since() const {
    return FromNanos(on_lane_since_nanos_.load(std::memory_order_relaxed));
  }
  const BatchStatistics& statistics() const { return statistics_; }

  // The batcher's note that times().compute_end is final. Read it after that.
  void NoteComputeEnd() {
    has_compute_ended_.store(true, std::memory_order_release);
  }
  bool has_compute_ended() const {
    return has_compute_ended_.load(std::memory_order_acquire);
  }

  Batch* next_finished = nullptr;  // on the batcher's list of resolved batches

 private:
  void CountBatch();
  void CountPadding();
  void CountRequest(const Entry& entry, const Ending& ending, TimePoint now);

  std::vector<Entry> entries_;
  int32_t rows_ = 0;
  size_t bytes_ = 0;
  uint64_t shape_key_ = 0;
  Times times_;
  int32_t lane_ = 0;
  int64_t sequence_ = 0;
  Outcome outcome_;
  OutputRef output_;
  BatchStatistics statistics_;
  std::atomic<bool> running_{false};
  std::atomic<bool> has_compute_ended_{false};
  std::atomic<int64_t> on_lane_since_nanos_{ToNanos(kNever)};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_H_
