// TestRequest is a request with its rows, its completion, and a way to see
// whether it got its own rows back from a model that repeats them; where it is
// padded it does not see that.
//
// Every element differs: rows of request `id` hold id * 1000 + row, so that a
// row that went astray is seen.
//
// Thread safety: thread-compatible; the completion is thread-safe.
#ifndef FERRY_TESTS_SUPPORT_TEST_REQUEST_H_
#define FERRY_TESTS_SUPPORT_TEST_REQUEST_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "batcher/infer_request.h"
#include "tensor/tensor.h"
#include "tests/support/counting_completion.h"

namespace ferry {

// A model with one INT64 input `x` of rows of `width` elements, and an output
// `y` like it.
ModelSpec RowSpec(int64_t width = 1);

struct TestRequestOptions {
  int64_t id = 0;
  int32_t rows = 1;
  int64_t width = 1;         // elements in a row
  int64_t padded_width = 0;  // of a row in its batch; 0: as it came
  TimePoint deadline = kNever;
  Duration timeout{0};
  int32_t level = 0;
};

class TestRequest {
 public:
  explicit TestRequest(const TestRequestOptions& options = {});
  TestRequest(const TestRequest&) = delete;
  TestRequest& operator=(const TestRequest&) = delete;

  InferRequest& request() { return request_; }
  const InferRequest& request() const { return request_; }
  CountingCompletion& completion() { return completion_; }
  const CountingCompletion& completion() const { return completion_; }
  int64_t id() const { return id_; }

  // Whether the answer is ok and brought exactly this request's rows.
  bool HasOwnRows() const;

  // The code of its answer, or "none" words for a failure message.
  absl::StatusCode code() const { return completion_.outcome().code; }

  // Ready to be submitted again. REQUIRES: released or refused.
  void Reset();

 private:
  const int64_t id_;
  const std::array<int64_t, 1> dims_;
  const std::array<int64_t, 1> padded_dims_;
  const std::vector<int64_t> values_;
  const std::vector<ByteSegment> segments_;
  const std::array<TensorView, 1> inputs_;
  CountingCompletion completion_;
  InferRequest request_;
};

// Finds the TestRequest that owns `request`, by the id in its first element.
int64_t IdOf(const InferRequest& request);

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_TEST_REQUEST_H_
