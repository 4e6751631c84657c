// write_scripts DIR: TorchScript files for the end-to-end tests, whose Python
// has no torch.
//
// linear.pt keeps the example that it was traced with, scripted.pt does not;
// both compute x [rows, 3] times [[1, 2, 3], [4, 5, 6]]. pixels.pt gives its
// input back. texts.pt gives texts in capitals and their lengths, to which it
// adds `bonus` [rows, 1] where that is given.
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

const char* const kTexts =
    "def forward(self, text: List[str], bonus: Optional[Tensor] = None):\n"
    "  loud: List[str] = []\n"
    "  sizes: List[float] = []\n"
    "  for t in text:\n"
    "    loud.append(t.upper())\n"
    "    sizes.append(float(len(t)))\n"
    "  length = torch.tensor(sizes).view([-1, 1])\n"
    "  if bonus is not None:\n"
    "    length = length + bonus\n"
    "  return loud, length\n";

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
  Write(folder + "texts.pt", kTexts, {});
  return 0;
}
