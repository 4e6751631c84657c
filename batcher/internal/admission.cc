// Implements Admission: adds to the counters, and takes back what does not fit.
#include "batcher/internal/admission.h"

#include <algorithm>
#include <limits>

namespace ferry {
namespace {

constexpr uint64_t Pack(int32_t requests, int32_t rows) {
  return (static_cast<uint64_t>(requests) << 32) + static_cast<uint64_t>(rows);
}
constexpr int32_t Requests(uint64_t packed) {
  return static_cast<int32_t>(packed >> 32);
}
// Refused rows count for a moment, too, so the sum may pass what an int32_t
// holds; then it is the largest one.
constexpr int32_t Rows(uint64_t packed) {
  constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::min(packed & 0xffffffffu, kLargest));
}

}  // namespace

std::optional<Refusal> Admission::TryAdmit(int32_t level, int32_t requests,
                                           int32_t rows, size_t bytes) {
  const QueueBounds bounds = this->bounds();
  if (bytes > static_cast<size_t>(bounds.bytes)) {
    return Refusal::kQueueBytes;
  }
  const uint64_t mine = Pack(requests, rows);
  const uint64_t now =
      requests_and_rows_.fetch_add(mine, std::memory_order_seq_cst) + mine;
  const auto my_bytes = static_cast<int64_t>(bytes);
  const int64_t bytes_before =
      bytes_.fetch_add(my_bytes, std::memory_order_seq_cst);
  Level& of_level = LevelAt(level);
  uint64_t now_of_level = 0;
  if (levels_ > 1) {
    now_of_level = mine + of_level.requests_and_rows.fetch_add(
                              mine, std::memory_order_relaxed);
  }
  // Looked at after the count is up: Close() and then a count of 0 means that
  // no request was admitted in between and none will be.
  std::optional<Refusal> refusal;
  if (closed()) {
    refusal = Refusal::kDraining;
  } else if (Requests(now) > bounds.requests) {
    refusal = Refusal::kQueueRequests;
  } else if ((now & 0xffffffffu) > static_cast<uint64_t>(bounds.rows)) {
    refusal = Refusal::kQueueRows;
  } else if (of_level.max_requests > 0 &&
             Requests(now_of_level) > of_level.max_requests) {
    refusal = Refusal::kQueueLevel;
  } else if (bytes_before > bounds.bytes - my_bytes) {
    refusal = Refusal::kQueueBytes;
  }
  if (refusal.has_value()) {
    LeaveLevel(level, requests, rows);
    ReleaseBytes(bytes);
    LeaveQueue(requests, rows);
  }
  return refusal;
}

void Admission::LeaveQueue(int32_t requests, int32_t rows) {
  requests_and_rows_.fetch_sub(Pack(requests, rows), std::memory_order_seq_cst);
}

void Admission::LeaveLevel(int32_t level, int32_t requests, int32_t rows) {
  if (levels_ > 1) {
    LevelAt(level).requests_and_rows.fetch_sub(Pack(requests, rows),
                                               std::memory_order_relaxed);
  }
}

void Admission::ReleaseBytes(size_t bytes) {
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_seq_cst);
}

int32_t Admission::RowsOf(int32_t level) const {
  const Level& of_level = by_level_[static_cast<size_t>(level)];
  return levels_ == 1
             ? rows()
             : Rows(of_level.requests_and_rows.load(std::memory_order_relaxed));
}

int32_t Admission::RowsUpTo(int32_t level) const {
  int64_t sum = 0;
  for (int32_t i = 0; i <= level; ++i) {
    sum += RowsOf(i);
  }
  return static_cast<int32_t>(
      std::min<int64_t>(sum, std::numeric_limits<int32_t>::max()));
}

int32_t Admission::requests() const {
  return Requests(requests_and_rows_.load(std::memory_order_seq_cst));
}

int32_t Admission::rows() const {
  return Rows(requests_and_rows_.load(std::memory_order_seq_cst));
}

}  // namespace ferry
