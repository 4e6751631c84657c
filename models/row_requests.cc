// One row's bytes, seen by every request.
#include "models/row_requests.h"

#include <algorithm>

#include "batcher/bytes_elements.h"
#include "batcher/checked_math.h"

namespace ferry {

std::vector<RowInput> ZeroRow(const ModelSpec& spec, int64_t any_size) {
  std::vector<RowInput> inputs;
  for (const TensorSpec& tensor : spec.inputs) {
    RowInput& input = inputs.emplace_back();
    input.dims = tensor.dims;
    std::replace(input.dims.begin(), input.dims.end(), kAnySize, any_size);
    // A string's length of zero is that of an empty one.
    const size_t size = tensor.type == DataType::kBytes
                            ? kBytesLengthSize
                            : ElementSize(tensor.type);
    input.bytes.resize(
        static_cast<size_t>(ElementCount(input.dims).value_or(0)) * size);
  }
  return inputs;
}

RowRequests::RowRequests(const ModelSpec& spec,
                         const std::vector<RowInput>& inputs, int32_t rows)
    : batch_(rows, rows) {
  size_t row_bytes = 0;
  for (const RowInput& input : inputs) {
    runs_.push_back({input.bytes.data(), input.bytes.size()});
    row_bytes += input.bytes.size();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    views_.push_back({.dims = inputs[i].dims,
                      .runs = {&runs_[i], inputs[i].is_given ? 1U : 0U},
                      .is_bytes = spec.inputs[i].type == DataType::kBytes,
                      .is_given = inputs[i].is_given});
  }
  for (int32_t row = 0; row < rows; ++row) {
    auto& request = *requests_.emplace_back(std::make_unique<InferRequest>());
    request.inputs = views_;
    request.bytes = row_bytes;
    batch_.Add(request);
  }
  batch_.Close(Clock::Steady().Now(), CloseReason::kFull);
}

}  // namespace ferry
