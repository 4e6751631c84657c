// Implements SoakCall: every element of every row of every number differs.
#include "tests/stress/soak_call.h"

#include <cstring>

namespace ferry {
namespace {

int64_t ValueOf(int64_t number, size_t element) {
  return number * 4096 + static_cast<int64_t>(element);
}

}  // namespace

uint64_t SoakCounts::sum_by_code() const {
  uint64_t sum = 0;
  for (const auto& count : by_code) {
    sum += count.load();
  }
  return sum;
}

bool SoakCounts::balances() const {
  return sent.load() == refused.load() + answered.load() &&
         sent.load() == sum_by_code() && answered_twice.load() == 0 &&
         wrong_rows.load() == 0;
}

SoakCall::SoakCall(SoakCounts& counts, int32_t max_rows) : counts_(counts) {
  values_.resize(static_cast<size_t>(max_rows * kWidth));
}

void SoakCall::Prepare(int64_t number, int32_t rows, TimePoint deadline) {
  const auto elements = static_cast<size_t>(rows * kWidth);
  for (size_t i = 0; i < elements; ++i) {
    values_[i] = ValueOf(number, i);
  }
  // Two segments that meet in the middle of an element, as slices do.
  const auto* const bytes = reinterpret_cast<const std::byte*>(values_.data());
  const size_t size = elements * sizeof(int64_t);
  const size_t cut = size / 2 - 3;
  segments_ = {{bytes, cut}, {bytes + cut, size - cut}};
  inputs_[0] = {dims_, segments_};
  request_.Reset();
  request_.inputs = inputs_;
  request_.rows = rows;
  request_.bytes = size;
  request_.deadline = deadline;
  request_.completion = this;
  answers_.store(0, std::memory_order_relaxed);
  is_idle_.store(false, std::memory_order_relaxed);
  counts_.sent.fetch_add(1, std::memory_order_relaxed);
}

void SoakCall::Refused(absl::StatusCode code) {
  counts_.refused.fetch_add(1, std::memory_order_relaxed);
  counts_.by_code[static_cast<size_t>(code)].fetch_add(
      1, std::memory_order_relaxed);
  is_idle_.store(true, std::memory_order_relaxed);
}

void SoakCall::Respond(const RequestResult& result) {
  if (result.outcome.ok() && !HasOwnRows(result.rows)) {
    counts_.wrong_rows.fetch_add(1, std::memory_order_relaxed);
  }
  if (answers_.fetch_add(1, std::memory_order_relaxed) > 0) {
    counts_.answered_twice.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  counts_.answered.fetch_add(1, std::memory_order_relaxed);
  counts_.by_code[static_cast<size_t>(result.outcome.code)].fetch_add(
      1, std::memory_order_relaxed);
  // The last touch: the submitting thread uses the call again.
  is_idle_.store(true, std::memory_order_release);
}

bool SoakCall::HasOwnRows(const OutputRows& output) const {
  if (output.buffer == nullptr || output.count != request_.rows) {
    return false;
  }
  const OutputTensor& tensor = output.buffer->tensors()[0];
  const std::byte* const rows =
      tensor.data + static_cast<size_t>(output.first) * tensor.row_bytes;
  const size_t size =
      static_cast<size_t>(request_.rows * kWidth) * sizeof(int64_t);
  return tensor.row_bytes == kWidth * sizeof(int64_t) &&
         std::memcmp(rows, values_.data(), size) == 0;
}

}  // namespace ferry
