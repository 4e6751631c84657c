// KeptBatch is a copy of a batch and of what its requests bring, to be run when
// they have been answered.
//
// Thread safety: const after construction.
#ifndef FERRY_MODELS_KEPT_BATCH_H_
#define FERRY_MODELS_KEPT_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "batcher/batch.h"
#include "batcher/infer_request.h"
#include "tensor/tensor.h"

namespace ferry {

class KeptBatch {
 public:
  // REQUIRES: the batch is closed, and none of its requests is answered.
  explicit KeptBatch(const Batch& batch);
  KeptBatch(const KeptBatch&) = delete;
  KeptBatch& operator=(const KeptBatch&) = delete;

  const Batch& batch() const { return batch_; }

 private:
  struct Input {
    explicit Input(const TensorView& view);

    std::vector<int64_t> dims;
    std::vector<int64_t> padded_dims;
    std::vector<std::byte> bytes;
    ByteSegment segment;  // all of them
  };
  struct Request {
    explicit Request(const InferRequest& original);

    std::deque<Input> inputs;
    std::vector<TensorView> views;
    InferRequest request;
  };

  std::deque<Request> requests_;  // they stay where they are
  Batch batch_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_KEPT_BATCH_H_
