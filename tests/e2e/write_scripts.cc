// write_scripts DIR: TorchScript files for the end-to-end tests, whose Python
// has no torch.
//
// linear.pt keeps the example that it was traced with, scripted.pt does not;
// both compute x [rows, 3] times [[1, 2, 3], [4, 5, 6]]. pixels.pt gives its
// input back.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

namespace {

void Write(const std::string& path, const std::string& source,
           std::vector<c10::IValue> traced) {
  torch::jit::Module module("m");
  module.register_parameter("w", at::arange(1, 7, at::kFloat).view({2, 3}),
                            /*is_buffer=*/false);
  module.define(source);
  module.store_traced_inputs("forward", std::move(traced));
  module.save(path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 1;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const char* const linear =
      "def forward(self, x):\n  return torch.linear(x, self.w)\n";
  Write(folder + "linear.pt", linear, {at::ones({4, 3})});
  Write(folder + "scripted.pt", linear, {});
  Write(folder + "pixels.pt", "def forward(self, x):\n  return x.clone()\n",
        {});
  return 0;
}
