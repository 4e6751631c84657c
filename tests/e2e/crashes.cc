// This library has an operator that gives its input back, unless its first
// number is one of those below: then it crashes.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <stdexcept>
#include <thread>

namespace {

constexpr float kWriteToNull = 101;
constexpr float kRecurse = 102;
constexpr float kThrowOnAThread = 103;

__attribute__((noinline)) void WriteToNull() {
  volatile int* volatile none = nullptr;
  *none = 1;
}

__attribute__((noinline)) int RecurseWithoutEnd(int step) {
  volatile int part_of_stack[100];
  part_of_stack[0] = step;
  return step < 0 ? 0 : RecurseWithoutEnd(step + 1) + part_of_stack[0];
}

at::Tensor Crash(const at::Tensor& x) {
  const auto first = x.flatten()[0].item<float>();
  if (first == kWriteToNull) {
    WriteToNull();
  } else if (first == kRecurse) {
    RecurseWithoutEnd(0);
  } else if (first == kThrowOnAThread) {
    std::thread([] { throw std::runtime_error("thrown on a thread"); }).join();
  }
  return x.clone();
}

}  // namespace

TORCH_LIBRARY(ferry_test, library) {
  library.def("crash(Tensor x) -> Tensor", &Crash);
}
