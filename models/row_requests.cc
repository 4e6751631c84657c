// Implements RowRequests: every request sees the bytes of one row.
#include "models/row_requests.h"

#include "base/check.h"
#include "tensor/data_type.h"

namespace ferry {

RowRequests::RowRequests(const ModelSpec& spec,
                         const std::vector<RowInput>& inputs, int32_t rows)
    : batch_(rows, rows) {
  size_t row_bytes = 0;
  for (const RowInput& input : inputs) {
    segments_.push_back({input.bytes.data(), input.bytes.size()});
    row_bytes += input.bytes.size();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    views_.push_back({.dims = inputs[i].dims,
                      .segments = {&segments_[i], inputs[i].is_given ? 1U : 0U},
                      .is_bytes = spec.inputs[i].type == DataType::kBytes,
                      .is_given = inputs[i].is_given});
  }
  Check(!padded_.Apply(spec, 1, absl::MakeSpan(views_)).has_value(),
        "inputs that follow each other are of one size");
  for (int32_t row = 0; row < rows; ++row) {
    auto& request = *requests_.emplace_back(std::make_unique<InferRequest>());
    request.inputs = views_;
    request.bytes = row_bytes;
    batch_.Add(request);
  }
  batch_.Close(Clock::Steady().Now(), CloseReason::kFull, 0);
}

}  // namespace ferry
