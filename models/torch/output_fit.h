// OutputFit checks that what a network gave for a batch is what its spec says,
// and brings it from the model's shapes to those of the wire.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_TORCH_OUTPUT_FIT_H_
#define FERRY_MODELS_TORCH_OUTPUT_FIT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

class OutputFit {
 public:
  // `options` outlives it.
  explicit OutputFit(const ModelOptions& options);

  // Reshapes the outputs of `rows` rows where the config says so, and checks
  // all. OUT_OF_RANGE where an output differs in a size only, else
  // INVALID_ARGUMENT, as where there are fewer or more than the spec's.
  absl::Status Fit(const Values& inputs, int32_t rows, Values& outputs);

  // The dims of one row of a BYTES output, of the batch fitted last.
  const std::vector<int64_t>& string_dims(size_t output) const {
    return string_dims_[output];
  }

 private:
  absl::Status FitOne(const Values& inputs, int32_t rows, size_t output,
                      c10::IValue& value);
  // `given`: dims of one row as the model gives them.
  absl::Status Reshape(size_t output, int32_t rows,
                       absl::Span<const int64_t> given,
                       c10::IValue& value) const;
  absl::Status CheckTensor(const Values& inputs, int32_t rows, size_t output,
                           const at::Tensor& found) const;
  absl::Status WrongKind(size_t output, const char* expected,
                         const c10::IValue& found) const;
  absl::Status WrongShape(size_t output, absl::Span<const int64_t> expected,
                          const at::Tensor& found) const;
  // Dims of one row of an output, of this batch: kAnySize where any will do.
  std::vector<int64_t> ExpectedRow(const Values& inputs, size_t output) const;

  const ModelOptions& options_;
  const bool has_rows_;  // tensors have a batch dimension
  std::vector<std::vector<int64_t>> string_dims_;  // [spec output]
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_OUTPUT_FIT_H_
