// Implements TestRequest: fills rows with numbers that identify their request.
#include "tests/support/test_request.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ferry {
namespace {

std::vector<int64_t> ValuesOf(const TestRequestOptions& options) {
  std::vector<int64_t> values;
  for (int32_t row = 0; row < options.rows; ++row) {
    values.insert(values.end(), static_cast<size_t>(options.width),
                  options.id * 1000 + row);
  }
  return values;
}

// Two runs that part in the middle of an element, as received messages do.
std::vector<ByteSegment> SegmentsOf(const std::vector<int64_t>& values) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  const size_t size = values.size() * sizeof(int64_t);
  const size_t first = size / 2 + (size > 2 ? 1 : 0);
  return {{bytes, first}, {bytes + first, size - first}};
}

}  // namespace

ModelSpec RowSpec(int64_t width) {
  return {.inputs = {{"x", DataType::kInt64, {width}}},
          .outputs = {{"y", DataType::kInt64, {width}}},
          .max_batch_size = 64};
}

TestRequest::TestRequest(const TestRequestOptions& options)
    : id_(options.id),
      dims_{options.width},
      padded_dims_{options.padded_width},
      values_(ValuesOf(options)),
      segments_(SegmentsOf(values_)),
      inputs_{TensorView{.dims = dims_,
                         .segments = segments_,
                         .padded_dims = options.padded_width > 0
                                            ? absl::MakeConstSpan(padded_dims_)
                                            : absl::Span<const int64_t>()}} {
  request_.inputs = inputs_;
  request_.rows = options.rows;
  request_.bytes = values_.size() * sizeof(int64_t);
  request_.shape_key = ShapeKey(inputs_);
  request_.deadline = options.deadline;
  request_.timeout = options.timeout;
  request_.level = options.level;
  request_.completion = &completion_;
}

bool TestRequest::HasOwnRows() const {
  const OutputRef output = completion_.output();
  if (!output || completion_.rows() != request_.rows) {
    return false;
  }
  const OutputTensor& tensor = output->tensors()[0];
  const size_t row_bytes = static_cast<size_t>(dims_[0]) * sizeof(int64_t);
  const auto first = static_cast<size_t>(completion_.first_row());
  return tensor.row_bytes == row_bytes &&
         std::memcmp(tensor.data + first * row_bytes, values_.data(),
                     values_.size() * sizeof(int64_t)) == 0;
}

void TestRequest::Reset() {
  request_.Reset();
  completion_.Reset();
}

int64_t IdOf(const InferRequest& request) {
  int64_t element = 0;
  auto* to = reinterpret_cast<std::byte*>(&element);
  size_t left = sizeof(element);
  for (const ByteSegment& segment : request.inputs[0].segments) {
    const size_t size = std::min(left, segment.size);
    std::memcpy(to, segment.data, size);
    to += size;
    left -= size;
  }
  return element / 1000;
}

}  // namespace ferry
