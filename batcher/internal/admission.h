// Admission bounds the queue in requests, rows and bytes, and closes it.
//
// Requests and rows count from TryAdmit() until the request leaves the queue
// (its batch closed, or it was answered there); bytes count until its batch is
// staged, because until then the received message is kept. Those of a request
// that is served in parts count until its last part has ended.
//
// Thread safety: thread-safe; no lock. Bounds are never exceeded: a producer
// adds first and takes back what did not fit, so that two producers at the
// bound may both be refused, and a third could have been admitted in between. A
// request that one bound refuses counts against the others for that moment.
#ifndef FERRY_BATCHER_INTERNAL_ADMISSION_H_
#define FERRY_BATCHER_INTERNAL_ADMISSION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/relaxed_copy.h"
#include "batcher/scheduler_options.h"
#include "batcher/statistics.h"

namespace ferry {

class Admission {
 public:
  // 1 to kMaxLevels levels.
  Admission(const QueueBounds& bounds, int32_t levels)
      : levels_(levels), bounds_(bounds) {}

  // From now on, and one at a time. What is admitted stays.
  void SetBounds(const QueueBounds& bounds) { bounds_.Store(bounds); }
  QueueBounds bounds() const { return bounds_.Load(); }
  // Requests of one level, beside those of all; 0: no bound. REQUIRES: before
  // the first TryAdmit().
  void SetLevelBound(int32_t level, int32_t requests) {
    LevelAt(level).max_requests = requests;
  }

  // All of them or none. Returns why none; kDraining where it is closed.
  std::optional<Refusal> TryAdmit(int32_t level, int32_t requests, int32_t rows,
                                  size_t bytes);
  void LeaveQueue(int32_t requests, int32_t rows);
  // Beside LeaveQueue(), for those of one level; counts where there are
  // several.
  void LeaveLevel(int32_t level, int32_t requests, int32_t rows);
  void ReleaseBytes(size_t bytes);

  // From now on TryAdmit() answers kDraining. A producer that was admitted
  // before counts in requests() until it leaves the queue.
  void Close() { closed_.store(true, std::memory_order_seq_cst); }
  bool closed() const { return closed_.load(std::memory_order_seq_cst); }

  int32_t requests() const;
  int32_t rows() const;
  int64_t bytes() const { return bytes_.load(std::memory_order_seq_cst); }
  int32_t RowsOf(int32_t level) const;
  // Returns the rows of this level and of all more urgent ones.
  int32_t RowsUpTo(int32_t level) const;

 private:
  // One level's counters, packed like all requests'. Not used with one level.
  struct Level {
    std::atomic<uint64_t> requests_and_rows{0};
    int32_t max_requests = 0;  // 0: no bound
  };

  Level& LevelAt(int32_t level) {
    return by_level_[static_cast<size_t>(level)];
  }

  const int32_t levels_;
  RelaxedCopy<QueueBounds> bounds_;
  // Requests in the upper half, rows in the lower: one read-modify-write a
  // request. Rows are never negative, and with those refused for a moment stay
  // below 2^32 (a queue holds 2^26 at most), so the halves do not touch.
  alignas(64) std::atomic<uint64_t> requests_and_rows_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> closed_{false};
  std::array<Level, kMaxLevels> by_level_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_ADMISSION_H_
