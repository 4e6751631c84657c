// ForwardInputs: made-up requests of one row for any model, for ferry-forward.
//
// Floats are uniform in [-1, 1), integers in [0, 100), so that they are token
// ids of any vocabulary; an input named "*mask*" is all ones. Seeded.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_FORWARD_INPUTS_H_
#define FERRY_MODELS_FORWARD_INPUTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "batcher/infer_request.h"
#include "batcher/tensor.h"

namespace ferry {

class ForwardInputs {
 public:
  // Makes `count` requests. A dimension of any size has `any_size`.
  ForwardInputs(const ModelSpec& spec, int32_t count, int64_t any_size);

  InferRequest& request(int32_t i) {
    return *requests_[static_cast<size_t>(i)];
  }

 private:
  struct Input {
    std::vector<int64_t> dims;
    std::vector<std::byte> bytes;
    Run run;
  };

  std::vector<Input> inputs_;
  std::vector<TensorView> views_;  // of inputs_; all requests bring the same
  std::vector<std::unique_ptr<InferRequest>> requests_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_FORWARD_INPUTS_H_
