// This library has one custom operator, as users build theirs.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

at::Tensor Twice(const at::Tensor& x) { return x + x; }

}  // namespace

TORCH_LIBRARY(ferry_test, library) {
  library.def("twice(Tensor x) -> Tensor", &Twice);
}
