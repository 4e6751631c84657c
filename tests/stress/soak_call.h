// SoakCall is a request of batcher_soak and its account. It is used again and
// again, each time with another number, other rows and other values, and knows
// whether it was answered once, with its own rows.
//
// Thread safety: Prepare(), is_idle() and set_idle() belong to the submitting
// thread; Respond() comes from the scheduler's threads.
#ifndef FERRY_TESTS_STRESS_SOAK_CALL_H_
#define FERRY_TESTS_STRESS_SOAK_CALL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "batcher/completion.h"
#include "batcher/infer_request.h"
#include "batcher/statistics.h"
#include "tensor/tensor.h"

namespace ferry {

// Sums over all calls; each counter is added to from any thread.
struct SoakCounts {
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> answered{0};
  std::atomic<uint64_t> answered_twice{0};
  std::atomic<uint64_t> wrong_rows{0};
  std::array<std::atomic<uint64_t>, kStatusCodeCount> by_code{};

  uint64_t sum_by_code() const;
  // sent = refused + answered, answered = sum by code, nothing twice or wrong.
  bool balances() const;
};

class SoakCall final : public Completion {
 public:
  static constexpr int64_t kWidth = 16;  // INT64 elements in a row

  // `counts` outlives it. REQUIRES: max_rows >= 1.
  SoakCall(SoakCounts& counts, int32_t max_rows);
  SoakCall(const SoakCall&) = delete;
  SoakCall& operator=(const SoakCall&) = delete;

  // Makes it request `number`. REQUIRES: is_idle().
  void Prepare(int64_t number, int32_t rows, TimePoint deadline);
  // It was refused: no answer will come.
  void Refused(absl::StatusCode code);

  InferRequest& request() { return request_; }
  bool is_idle() const { return is_idle_.load(std::memory_order_acquire); }

  void Respond(const RequestResult& result) override;

 private:
  bool HasOwnRows(const OutputRows& output) const;

  SoakCounts& counts_;
  const std::array<int64_t, 1> dims_{kWidth};
  std::vector<int64_t> values_;
  std::vector<ByteSegment> segments_;
  std::array<TensorView, 1> inputs_;
  InferRequest request_;
  std::atomic<int> answers_{0};
  std::atomic<bool> is_idle_{true};
};

}  // namespace ferry

#endif  // FERRY_TESTS_STRESS_SOAK_CALL_H_
