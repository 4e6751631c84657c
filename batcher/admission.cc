// Implements Admission: adds to the counters, and takes back what does not fit.
#include "batcher/admission.h"

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

Admission::Admission(const QueueBounds& bounds, int32_t levels)
    : levels_(levels),
      max_requests_(bounds.requests),
      max_rows_(bounds.rows),
      max_bytes_(bounds.bytes) {}

void Admission::SetBounds(const QueueBounds& bounds) {
  max_requests_.store(bounds.requests, std::memory_order_relaxed);
  max_rows_.store(bounds.rows, std::memory_order_relaxed);
  max_bytes_.store(bounds.bytes, std::memory_order_relaxed);
}

void Admission::SetLevelBound(int32_t level, int32_t requests) {
  by_level_[static_cast<size_t>(level)].max_requests.store(
      requests, std::memory_order_relaxed);
}

QueueBounds Admission::bounds() const {
  return {.requests = max_requests_.load(std::memory_order_relaxed),
          .rows = max_rows_.load(std::memory_order_relaxed),
          .bytes = max_bytes_.load(std::memory_order_relaxed)};
}

Admission::Verdict Admission::TryAdmit(int32_t level, int32_t requests,
                                       int32_t rows, size_t bytes) {
  const QueueBounds bounds = this->bounds();
  const uint64_t mine = Pack(requests, rows);
  const uint64_t now =
      requests_and_rows_.fetch_add(mine, std::memory_order_seq_cst) + mine;
  // Looked at after the count is up: Close() and then a count of 0 means that
  // no request was admitted in between and none will be.
  Verdict verdict = Verdict::kAdmitted;
  if (closed()) {
    verdict = Verdict::kClosed;
  } else if (Requests(now) > bounds.requests) {
    verdict = Verdict::kRequestsFull;
  } else if ((now & 0xffffffffu) > static_cast<uint64_t>(bounds.rows)) {
    verdict = Verdict::kRowsFull;
  } else if (!TakeLevel(level, requests, rows)) {
    verdict = Verdict::kLevelFull;
  } else if (!TakeBytes(bytes)) {
    LeaveLevel(level, requests, rows);
    verdict = Verdict::kBytesFull;
  }
  if (verdict != Verdict::kAdmitted) {
    LeaveQueue(requests, rows);
  }
  return verdict;
}

bool Admission::TakeLevel(int32_t level, int32_t requests, int32_t rows) {
  if (levels_ == 1) {
    return true;
  }
  Level& mine = by_level_[static_cast<size_t>(level)];
  const uint64_t added = Pack(requests, rows);
  const uint64_t now = added + mine.requests_and_rows.fetch_add(
                                   added, std::memory_order_relaxed);
  const int32_t max = mine.max_requests.load(std::memory_order_relaxed);
  if (max > 0 && Requests(now) > max) {
    LeaveLevel(level, requests, rows);
    return false;
  }
  return true;
}

bool Admission::TakeBytes(size_t bytes) {
  const int64_t max = max_bytes_.load(std::memory_order_relaxed);
  if (bytes > static_cast<size_t>(max)) {
    return false;
  }
  const auto mine = static_cast<int64_t>(bytes);
  const int64_t before = bytes_.fetch_add(mine, std::memory_order_seq_cst);
  if (before > max - mine) {
    bytes_.fetch_sub(mine, std::memory_order_seq_cst);
    return false;
  }
  return true;
}

void Admission::LeaveQueue(int32_t requests, int32_t rows) {
  requests_and_rows_.fetch_sub(Pack(requests, rows), std::memory_order_seq_cst);
}

void Admission::LeaveLevel(int32_t level, int32_t requests, int32_t rows) {
  if (levels_ > 1) {
    by_level_[static_cast<size_t>(level)].requests_and_rows.fetch_sub(
        Pack(requests, rows), std::memory_order_relaxed);
  }
}

int32_t Admission::RowsOf(int32_t level) const {
  return levels_ == 1
             ? rows()
             : Rows(
                   by_level_[static_cast<size_t>(level)].requests_and_rows.load(
                       std::memory_order_relaxed));
}

int32_t Admission::RowsUpTo(int32_t level) const {
  int64_t sum = 0;
  for (int32_t i = 0; i <= level; ++i) {
    sum += RowsOf(i);
  }
  return static_cast<int32_t>(
      std::min<int64_t>(sum, std::numeric_limits<int32_t>::max()));
}

void Admission::ReleaseBytes(size_t bytes) {
  bytes_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_seq_cst);
}

int32_t Admission::requests() const {
  return Requests(requests_and_rows_.load(std::memory_order_seq_cst));
}

int32_t Admission::rows() const {
  return Rows(requests_and_rows_.load(std::memory_order_seq_cst));
}

}  // namespace ferry
