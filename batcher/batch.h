// Batch is a group of requests that cross to the device together; BatchPool
// lends batches and sees to it that they are delivered.
//
// Life of a batch: open while the scheduler adds requests; closed when
// Scheduler::NextBatch() returns it; finished when its compute has ended;
// delivered when each request has been told its result; then back in the pool
// it came from. Nothing joins or leaves a closed batch. Batches are made at
// start and reused, so that steady state allocates nothing.
//
// Thread safety: a Batch is thread-compatible. It has one owner at a time, and
// travels as a BatchPtr. Its statistics() may be read from any thread.
#ifndef FERRY_BATCHER_BATCH_H_
#define FERRY_BATCHER_BATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "batcher/infer_request.h"
#include "batcher/statistics.h"
#include "tensor/output_buffer.h"

namespace ferry {

class Batch;
class BatchPool;

// The number of an instance, from 0.
using InstanceId = int32_t;

// Gives a batch back to its pool.
struct BatchRecycler {
  void operator()(Batch* batch) const;
};
using BatchPtr = std::unique_ptr<Batch, BatchRecycler>;

// When an instance did what with a batch.
struct BatchTimes {
  // What gather and copy in took, where they do not hold up the compute.
  Duration staging{0};
  TimePoint compute_begin;
  TimePoint compute_end;
  Duration compute() const { return compute_end - compute_begin; }
};

// How the compute of a batch ended.
enum class Computed : uint8_t {
  kOk,
  kFailed,      // this batch only
  kDeviceLost,  // nothing on the device will succeed any more
};

class Batch {
 public:
  struct Entry {
    InferRequest* request;  // null once it has been told its result
    TimePoint arrival;
    TimePoint due;
    int32_t first_row;
    int32_t rows;
    int32_t level;
  };

  // `max_requests` and `max_rows` bound what it ever holds. `pool` lends it and
  // outlives it; null for a batch that runs without a scheduler.
  Batch(int32_t max_requests, int32_t max_rows, BatchPool* pool = nullptr);

  // --- open: the scheduler ---
  void Add(InferRequest& request);
  // `sequence`: its number among the batches that were closed.
  void Close(TimePoint now, CloseReason reason, int64_t sequence);
  int64_t sequence() const { return sequence_; }

  // --- closed: the instance ---
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

  TimePoint closed() const { return closed_; }
  const BatchTimes& times() const { return times_; }
  void set_times(const BatchTimes& times) { times_ = times; }

  // Sets what requests will be told; `output` has rows() rows, none on error.
  void SetResult(Outcome outcome, OutputRef output);
  const Outcome& outcome() const { return outcome_; }

  // In its place where the batch failed: takes the batches in which all its
  // requests were run again, in their order, each with its result and times.
  using Reruns = std::vector<std::unique_ptr<Batch>>;
  void SetResults(Reruns reruns) { reruns_ = std::move(reruns); }
  // Returns a closed batch of some of the requests, to be run again; it is
  // counted where this one is.
  std::unique_ptr<Batch> Rerun(size_t first, size_t count) const;

  // --- finished: the thread that delivers ---
  // Counts, then tells each request its own rows or the batch's error.
  void Deliver(const Clock& clock);

  // Makes it open and empty again.
  void Clear();

  // --- any thread ---
  const BatchStatistics& statistics() const { return statistics_; }

 private:
  friend struct BatchRecycler;
  friend void Deliver(BatchPtr batch, TimePoint reply_until);

  Batch(BatchStatistics& statistics, size_t max_requests);

  void CountBatch();
  void CountPadding();
  void CountRequest(const Entry& entry, const RequestResult& result,
                    TimePoint now);

  BatchPool* const pool_;
  std::vector<Entry> entries_;
  int32_t rows_ = 0;
  size_t bytes_ = 0;
  uint64_t shape_key_ = 0;
  int64_t sequence_ = 0;
  TimePoint closed_;
  BatchTimes times_;
  Outcome outcome_;
  OutputRef output_;
  Reruns reruns_;  // or none
  TimePoint reply_until_;
  const std::unique_ptr<BatchStatistics> own_statistics_;  // no rerun has them
  BatchStatistics& statistics_;
};

// Tells the requests of a batch that has its result, in the order of the
// batches where the scheduler preserves it. An instance calls this after
// Scheduler::Finished(), from any of its threads. Until `reply_until` results
// say that the thread has the time to reply; where the order is preserved none
// does, since a result that is kept must not be overtaken.
void Deliver(BatchPtr batch, TimePoint reply_until = {});

// BatchPool lends batches to a scheduler, sees to it that they are delivered,
// and takes them back.
//
// Bound (G5): it has a fixed number of batches. An instance that finds none
// waits until replies have been delivered.
//
// Where order is preserved batches are delivered as they were closed, whichever
// instance was faster: one that ends early is parked.
//
// Thread safety: BatchPool is thread-safe.
class BatchPool {
 public:
  struct Options {
    int32_t batches = 1;
    int32_t max_requests = 1;  // of one batch
    int32_t max_rows = 1;
    bool preserve_ordering = false;
    const Clock* clock = nullptr;  // outlives the pool
  };

  // `on_batch(id)` tells that Take(id), which returned null, may return a batch
  // now.
  BatchPool(const Options& options, std::function<void(InstanceId)> on_batch);

  // REQUIRES: all batches are back.
  ~BatchPool();

  // Returns an open, empty batch; null where all are under way.
  BatchPtr Take(InstanceId id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Put(Batch& batch) ABSL_LOCKS_EXCLUDED(mutex_);

  bool preserves_order() const { return preserve_ordering_; }

  // Tells the requests of a batch that has its result; where order is preserved
  // those of all batches whose turn it is, one after the other. Another thread
  // that is delivering may take this one along.
  void Deliver(BatchPtr batch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Requests are being told their end outside a batch. Calls may nest.
  void BeginAnswers() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndAnswers() ABSL_LOCKS_EXCLUDED(mutex_);

  // What WaitUntilIdle() asks may have another answer.
  void QueueChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until `is_empty()` says that nothing is queued, no batch is under way
  // and no request is being told its end. Returns whether that came before
  // `until`.
  bool WaitUntilIdle(TimePoint until, absl::FunctionRef<bool()> is_empty)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Batches closed and not yet delivered.
  int32_t under_way() const ABSL_LOCKS_EXCLUDED(mutex_);

  // All batches, for their statistics; constant.
  const std::vector<std::unique_ptr<Batch>>& all() const { return all_; }

 private:
  BatchPtr& ParkedAt(int64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return parked_[static_cast<size_t>(sequence) % parked_.size()];
  }

  const Clock& clock_;
  const std::function<void(InstanceId)> on_batch_;
  std::vector<std::unique_ptr<Batch>> all_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Batch*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<InstanceId> waiting_ ABSL_GUARDED_BY(mutex_);
  int32_t answering_ ABSL_GUARDED_BY(mutex_) = 0;

  // Where order is preserved; not used otherwise.
  const bool preserve_ordering_;
  std::vector<BatchPtr> parked_ ABSL_GUARDED_BY(mutex_);  // a ring, by sequence
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;              // sequence
  bool is_delivering_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCH_H_
