// RowRequests makes requests of one row in a closed batch, to run a model
// without clients: its warm-up, comparisons, and ferry-forward.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_ROW_REQUESTS_H_
#define FERRY_MODELS_ROW_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "batcher/batch.h"
#include "batcher/infer_request.h"
#include "tensor/padding.h"
#include "tensor/tensor.h"

namespace ferry {

// One input of one row, as it comes on the wire.
struct RowInput {
  bool is_given = true;  // false: left out
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};

class RowRequests {
 public:
  // `inputs`: one for each of the spec's; outlives it. All rows are alike.
  RowRequests(const ModelSpec& spec, const std::vector<RowInput>& inputs,
              int32_t rows);
  // Rows are of one shape, and outlive it.
  RowRequests(const ModelSpec& spec,
              const std::vector<std::vector<RowInput>>& rows);

  const Batch& batch() const { return batch_; }

 private:
  // What the requests of one row see.
  struct Row {
    std::vector<ByteSegment> segments;  // [input]
    std::vector<TensorView> views;
    PaddedInputs padded;
    size_t bytes = 0;
  };

  const Row& AddRow(const ModelSpec& spec, const std::vector<RowInput>& inputs);
  void AddRequest(const Row& row);
  void Close();

  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<std::unique_ptr<InferRequest>> requests_;
  Batch batch_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_ROW_REQUESTS_H_
