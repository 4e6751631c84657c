// OutputDifference tells how far what one output gives is from what it should
// give, over one batch or several.
//
// Thread safety: thread-compatible.
// Errors: throws what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_OUTPUT_DIFFERENCE_H_
#define FERRY_MODELS_TORCH_OUTPUT_DIFFERENCE_H_

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry {

class OutputDifference {
 public:
  // `kinds`: of batches whose values are each of a scale of their own.
  explicit OutputDifference(size_t kinds = 1) : floats_(kinds) {}

  // Tensors in the host's memory, or lists of strings.
  void Add(const c10::IValue& expected, const c10::IValue& found,
           size_t kind = 0);

  // The largest difference of floats as a share of the largest value of their
  // kind, infinite where one is no number and the other is, or shapes differ;
  // of integers, bools and strings the share that differs. `least_count`:
  // integers that are fewer count as so many.
  double share(int64_t least_count = 1) const;

 private:
  struct Floats {
    double off = 0;
    double largest = 0;
  };

  void Add(const at::Tensor& expected, const at::Tensor& found, Floats& floats);

  std::vector<Floats> floats_;
  int64_t differing_ = 0;
  int64_t count_ = 0;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_OUTPUT_DIFFERENCE_H_
