// Implements RowRequests: a request sees the bytes of its row.
#include "models/row_requests.h"

#include "base/check.h"
#include "tensor/data_type.h"

namespace ferry {

RowRequests::RowRequests(const ModelSpec& spec,
                         const std::vector<RowInput>& inputs, int32_t rows)
    : batch_(rows, rows) {
  const Row& seen_by_all = AddRow(spec, inputs);
  for (int32_t row = 0; row < rows; ++row) {
    AddRequest(seen_by_all);
  }
  Close();
}

RowRequests::RowRequests(const ModelSpec& spec,
                         const std::vector<std::vector<RowInput>>& rows)
    : batch_(static_cast<int32_t>(rows.size()),
             static_cast<int32_t>(rows.size())) {
  for (const std::vector<RowInput>& inputs : rows) {
    AddRequest(AddRow(spec, inputs));
  }
  Close();
}

const RowRequests::Row& RowRequests::AddRow(
    const ModelSpec& spec, const std::vector<RowInput>& inputs) {
  Row& row = *rows_.emplace_back(std::make_unique<Row>());
  for (const RowInput& input : inputs) {
    row.segments.push_back({input.bytes.data(), input.bytes.size()});
    row.bytes += input.bytes.size();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    row.views.push_back(
        {.dims = inputs[i].dims,
         .segments = {&row.segments[i], inputs[i].is_given ? 1U : 0U},
         .is_bytes = spec.inputs[i].type == DataType::kBytes,
         .is_given = inputs[i].is_given});
  }
  Check(!row.padded.Apply(spec, 1, absl::MakeSpan(row.views)).has_value(),
        "inputs that follow each other are of one size");
  return row;
}

void RowRequests::AddRequest(const Row& row) {
  auto& request = *requests_.emplace_back(std::make_unique<InferRequest>());
  request.inputs = row.views;
  request.bytes = row.bytes;
  batch_.Add(request);
}

void RowRequests::Close() {
  batch_.Close(Clock::Steady().Now(), CloseReason::kFull, 0);
}

}  // namespace ferry
