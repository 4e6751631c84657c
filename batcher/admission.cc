// Admission's counters: add, look, take back what does not fit.
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

Admission::Verdict Admission::TryAdmit(int32_t rows, size_t bytes) {
  const uint64_t mine = Pack(1, rows);
  const uint64_t now =
      requests_and_rows_.fetch_add(mine, std::memory_order_seq_cst) + mine;
  // Looked at after the count is up: Close() and then a count of 0 means that
  // nobody was admitted in between and nobody will be.
  Verdict verdict = Verdict::kAdmitted;
  if (closed()) {
    verdict = Verdict::kClosed;
  } else if (Requests(now) > bounds_.requests) {
    verdict = Verdict::kRequestsFull;
  } else if ((now & 0xffffffffu) > static_cast<uint64_t>(bounds_.rows)) {
    verdict = Verdict::kRowsFull;
  } else if (!TakeBytes(bytes)) {
    verdict = Verdict::kBytesFull;
  }
  if (verdict != Verdict::kAdmitted) {
    LeaveQueue(1, rows);
  }
  return verdict;
}

bool Admission::TakeBytes(size_t bytes) {
  if (bytes > static_cast<size_t>(bounds_.bytes)) {
    return false;
  }
  const auto mine = static_cast<int64_t>(bytes);
  const int64_t before = bytes_.fetch_add(mine, std::memory_order_seq_cst);
  if (before > bounds_.bytes - mine) {
    bytes_.fetch_sub(mine, std::memory_order_seq_cst);
    return false;
  }
  return true;
}

void Admission::LeaveQueue(int32_t requests, int32_t rows) {
  requests_and_rows_.fetch_sub(Pack(requests, rows), std::memory_order_seq_cst);
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
