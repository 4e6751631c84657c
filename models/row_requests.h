// RowRequests makes requests of one row in a closed batch, all of the same
// inputs, to run a CpuModel without clients: its warm-up, and ferry-forward.
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
  // `inputs`: one for each of the spec's; outlives it.
  RowRequests(const ModelSpec& spec, const std::vector<RowInput>& inputs,
              int32_t rows);

  const Batch& batch() const { return batch_; }

 private:
  std::vector<ByteSegment> segments_;  // [input]
  std::vector<TensorView> views_;      // of all requests
  PaddedInputs padded_;
  std::vector<std::unique_ptr<InferRequest>> requests_;
  Batch batch_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_ROW_REQUESTS_H_
