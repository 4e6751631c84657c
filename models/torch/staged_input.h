// StagedInput gathers one input of an instance's batches into memory of its own
// and into the type that the network computes in.
//
// Rows are gathered and cast on the way: floats to the model's precision, bytes
// of images to that by their normalization; integers, bools and BYTES pass
// unchanged. A row that is smaller than those of its batch is padded with
// zeros, and a batch with zero rows (empty strings) to the rows that the
// network is to see.
//
// Thread safety: thread-compatible; used by the thread that runs a batch of the
// instance. Errors: may throw what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_STAGED_INPUT_H_
#define FERRY_MODELS_TORCH_STAGED_INPUT_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "batcher/batch.h"
#include "models/config/model_options.h"
#include "models/torch/normalize.h"

namespace ferry {

// The type as which elements on the wire are read. Bytes of a bool may be any:
// they are read as UINT8, and all but 0 become true.
at::ScalarType WireType(DataType type);

// The type in which the network takes an input; `type`: where that is not the
// precision's or the wire's.
at::ScalarType StagedType(const ModelOptions& options, size_t input,
                          std::optional<at::ScalarType> type);

// Dims of one row of an input as the model takes it.
std::vector<int64_t> ModelRow(const ModelOptions& options, size_t input,
                              absl::Span<const int64_t> row_dims);

class StagedInput {
 public:
  // `options` outlives it. `index`: of options.spec.inputs. `type`: in which
  // the network takes it, where that is not the precision's or the wire's.
  StagedInput(const ModelOptions& options, size_t index,
              std::optional<at::ScalarType> type);

  // Returns what Network::Forward() takes, valid until the next call: the
  // batch's rows and those that pad it to `padded_rows`; none where the batch's
  // requests leave the input out.
  c10::IValue Stage(const Batch& batch, int32_t padded_rows);

 private:
  // Gathers the batch's rows, casting them from wire_'s type to staged_'s.
  void GatherCast(const Batch& batch);
  // The same where some are smaller than the batch's.
  void GatherPadded(const Batch& batch);
  // A view of `rows` rows of the room, which is made to hold them.
  at::Tensor Place(int32_t rows, absl::Span<const int64_t> row_dims);

  const ModelOptions& options_;
  const size_t index_;
  const TensorSpec& spec_;
  std::optional<Normalizer> normalizer_;
  const std::optional<at::ScalarType> type_;
  const bool has_variable_shape_;  // some input of the model has
  // Flat; for the largest batch where shapes are fixed, else they grow.
  // wire_ is unused where types agree. As received: all rows of images and of
  // inputs that are padded, else a piece of them.
  at::Tensor wire_;
  at::Tensor staged_;  // in the type computed in
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_STAGED_INPUT_H_
