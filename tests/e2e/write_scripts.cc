// write_scripts DIR [spread|wide|residual]: TorchScript files for the
// end-to-end tests, whose Python has no torch.
//
// linear.pt keeps the example that it was traced with, scripted.pt does not;
// both compute x [rows, 3] times [[1, 2, 3], [4, 5, 6]]. pixels.pt gives its
// input back, picky.pt as well but for numbers from 0 to 1, for which it throws
// as throws.pt always does. endless.pt never ends, loops.pt adds 1 as often as
// its input says, hungry.pt takes a GiB for a moment. constant.pt multiplies by
// 1.001, a constant in fp32; upcast.pt casts to fp32 before its linear layer,
// norm.pt before its norm, halves.pt to fp16. ids.pt gives the product's number
// of x [rows, 1], from a table of integers. deep.pt looks x [rows, 1] up in a
// table of five, eight modules deep. loud.pt prints 16 KB of an escape and text
// for each batch, says.pt a short line. poison.pt gives x [rows, 3] back unless
// one is above 100. fewer.pt gives its input back, where one is above 100
// without its first row, short.pt always so. branch.pt is linear.pt that
// computes in fp32 where one is above 100, stuck.pt also throws there. texts.pt
// gives texts in capitals and their lengths, to which it adds `bonus` [rows, 1]
// where that is given. waits.pt is linear.pt that looks at its input on the
// processor first, random.pt one that draws random numbers, writes.pt one that
// doubles its input where that stands. takes.pt is linear.pt that takes as many
// MiB for each row as the largest number of its batch says, heavy.pt one whose
// weights are 4 TiB where they are copied, of one byte in the file. With
// `spread` only spread.pt, which gives the numbers of linear.pt 2048 times.
// With `wide` only wide.pt, which gives back what of its input [rows, 1024] is
// above zero, by 16 MB of weights. With `residual` only residual.pt, a
// ResNet-18 of 224 x 224 with synthetic weights, its norms folded.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

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

// Two ways in which a weight may be held: linear() has it repacked, matmul()
// as it is.
void WriteWide(const std::string& path) {
  torch::jit::Module module("m");
  for (const char* const name : {"up", "down"}) {
    module.register_parameter(name, at::eye(2048, 1024), /*is_buffer=*/false);
  }
  module.define(
      "def forward(self, x):\n"
      "  return torch.matmul(torch.relu(torch.linear(x, self.up)), "
      "self.down)\n");
  module.save(path);
}

void WriteSpread(const std::string& path) {
  torch::jit::Module module("m");
  module.register_parameter(
      "w", at::arange(1, 7, at::kFloat).view({2, 3}).repeat({2048, 1}),
      /*is_buffer=*/false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.w)\n");
  module.save(path);
}

// Adds the weights of a convolution, drawn as He et al. 2015 have it, and
// returns its call.
std::string Convolution(torch::jit::Module& module, const std::string& x,
                        std::vector<int64_t> weight, int64_t stride) {
  const std::string name = absl::StrCat("w", module.parameters().size());
  const auto inputs = static_cast<double>(weight[1] * weight[2] * weight[3]);
  module.register_parameter(name, at::randn(weight) * std::sqrt(2 / inputs),
                            /*is_buffer=*/false);
  const int64_t padding = weight[2] / 2;
  return absl::StrCat("torch.conv2d(", x, ", self.", name, ", None, [", stride,
                      ", ", stride, "], [", padding, ", ", padding, "])");
}

void WriteResidual(const std::string& path) {
  at::manual_seed(1);
  torch::jit::Module module("m");
  std::string source =
      absl::StrCat("def forward(self, x):\n  x = torch.relu(",
                   Convolution(module, "x", {64, 3, 7, 7}, 2),
                   ")\n  x = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])\n");
  int64_t inputs = 64;
  for (const int64_t width : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      const int64_t stride = block == 0 && width > 64 ? 2 : 1;
      absl::StrAppend(
          &source, "  y = torch.relu(",
          Convolution(module, "x", {width, inputs, 3, 3}, stride),
          ")\n  y = ", Convolution(module, "y", {width, width, 3, 3}, 1), "\n");
      if (inputs != width) {
        absl::StrAppend(&source, "  x = ",
                        Convolution(module, "x", {width, inputs, 1, 1}, stride),
                        "\n");
      }
      absl::StrAppend(&source, "  x = torch.relu((x + y) * 0.7)\n");
      inputs = width;
    }
  }
  module.register_parameter("head", at::randn({1000, 512}) / 16,
                            /*is_buffer=*/false);
  absl::StrAppend(&source,
                  "  x = torch.adaptive_avg_pool2d(x, [1, 1]).flatten(1)\n"
                  "  return torch.linear(x, self.head)\n");
  module.define(source);
  module.save(path);
}

void WriteHalves(const std::string& path) {
  torch::jit::Module module("m");
  module.register_parameter("w", at::eye(3, at::kHalf), /*is_buffer=*/false);
  module.define(
      "def forward(self, x):\n"
      "  return torch.linear(x.half(), self.w).float()\n");
  module.save(path);
}

void WriteIds(const std::string& path) {
  torch::jit::Module module("m");
  module.register_buffer("ids", at::arange(100'000'001, 100'000'010));
  module.define("def forward(self, x):\n  return self.ids[x]\n");
  module.store_traced_inputs("forward", {at::zeros({1, 1}, at::kLong)});
  module.save(path);
}

void WriteHeavy(const std::string& path) {
  torch::jit::Module module("m");
  module.register_parameter("w", at::arange(1, 7, at::kFloat).view({2, 3}),
                            /*is_buffer=*/false);
  module.register_buffer("all",
                         at::zeros({1}, at::kByte).expand({int64_t{1} << 42}));
  module.define(
      "def forward(self, x):\n"
      "  scale = 1.0\n"
      "  if self.all.numel() < 0:\n    scale = 2.0\n"
      "  return torch.linear(x, self.w) * scale\n");
  module.save(path);
}

void WriteDeep(const std::string& path, const std::string& index) {
  torch::jit::Module module("m");
  module.register_buffer("w", at::ones({5, 3}));
  module.define(
      absl::StrCat("def forward(self, x):\n"
                   "  return torch.embedding(self.w, ",
                   index, ")\n"));
  for (int i = 0; i < 8; ++i) {
    torch::jit::Module around(absl::StrCat("around", i));
    around.register_module("inner", module);
    around.define("def forward(self, x):\n  return self.inner.forward(x)\n");
    module = around;
  }
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

// What each row brought, and how large the rows of its batch are.
const char* const kSequences =
    "def forward(self, ids, mask, spectrum):\n"
    "  total = (ids * mask).sum(1, keepdim=True).float()\n"
    "  padded = torch.zeros_like(total) + ids.size(1)\n"
    "  return total, padded, spectrum.transpose(1, 2), ids * 2\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    return 1;
  }
  const std::string folder = std::string(argv[1]) + "/";
  if (argc == 3) {
    const std::string one = argv[2];
    if (one == "spread") {
      WriteSpread(folder + "spread.pt");
    } else if (one == "wide") {
      WriteWide(folder + "wide.pt");
    } else if (one == "residual") {
      WriteResidual(folder + "residual.pt");
    } else {
      return 1;
    }
    return 0;
  }
  const char* const linear =
      "def forward(self, x):\n  return torch.linear(x, self.w)\n";
  Write(folder + "linear.pt", linear, {at::ones({4, 3})});
  Write(folder + "scripted.pt", linear, {});
  Write(folder + "mean.pt", "def forward(self, x):\n  return x.mean(1, True)\n",
        {});
  Write(folder + "pixels.pt", "def forward(self, x):\n  return x.clone()\n",
        {});
  Write(folder + "texts.pt", kTexts, {});
  Write(folder + "sequences.pt", kSequences, {});
  Write(folder + "throws.pt",
        "def forward(self, x):\n  assert False, 'always'\n  return x\n", {});
  Write(folder + "endless.pt",
        "def forward(self, x):\n"
        "  while bool(x.numel() > 0):\n    x = x + 1\n  return x\n",
        {});
  Write(folder + "loops.pt",
        "def forward(self, x):\n"
        "  left = int(x.max())\n"
        "  while left > 0:\n    x = x + 1\n    left -= 1\n  return x\n",
        {});
  Write(folder + "hungry.pt",
        "def forward(self, x):\n"
        "  return x + torch.ones([1 << 28]).sum()\n",
        {});
  Write(
      folder + "picky.pt",
      "def forward(self, x):\n"
      "  assert bool(x.min() < 0) or bool(x.max() > 1), 'only small numbers'\n"
      "  return x.clone()\n",
      {});
  Write(folder + "constant.pt",
        "def forward(self, x):\n"
        "  return torch.matmul(x, torch.eye(3) * 1.001)\n",
        {});
  Write(folder + "upcast.pt",
        "def forward(self, x):\n"
        "  return torch.linear(x.float() * 1.001, self.w)\n",
        {});
  Write(folder + "norm.pt",
        "def forward(self, x):\n"
        "  return torch.layer_norm(x.float(), [3], self.w[0], self.w[1])\n",
        {});
  WriteHalves(folder + "halves.pt");
  Write(folder + "loud.pt",
        absl::StrCat("def forward(self, x):\n  print(\"\\033[2J",
                     std::string(16'000, 'x'), "\")\n  return x.clone()\n"),
        {});
  Write(folder + "says.pt",
        "def forward(self, x):\n"
        "  print(\"the number is\", int(x[0]), \"indeed\")\n"
        "  return x.clone()\n",
        {});
  Write(folder + "poison.pt",
        "def forward(self, x):\n"
        "  assert not bool((x > 100).any()), 'poison'\n  return x.clone()\n",
        {});
  Write(folder + "fewer.pt",
        "def forward(self, x):\n  return x[int((x > 100).any()):].clone()\n",
        {});
  Write(folder + "short.pt", "def forward(self, x):\n  return x[1:].clone()\n",
        {});
  const std::string branch =
      "def forward(self, x):\n"
      "  is_large = bool((x > 100).any())\n"
      "  if is_large:\n    x = x + torch.ones([3])\n"
      "  y = torch.linear(x, self.w)\n";
  Write(folder + "branch.pt", branch + "  return y\n", {});
  Write(folder + "stuck.pt",
        branch + "  assert not is_large, 'fp32 fails, too'\n  return y\n", {});
  Write(folder + "waits.pt",
        "def forward(self, x):\n"
        "  scale = 1.0\n"
        "  if float(x.cpu().abs().sum()) < 0.0:\n    scale = 2.0\n"
        "  return torch.linear(x, self.w) * scale\n",
        {});
  Write(folder + "random.pt",
        "def forward(self, x):\n"
        "  return torch.linear(x, self.w) + torch.rand([2], device=x.device)\n",
        {});
  Write(folder + "writes.pt",
        "def forward(self, x):\n"
        "  return torch.linear(x.mul_(2.0), self.w) * 0.5\n",
        {});
  Write(folder + "takes.pt",
        "def forward(self, x):\n"
        "  mib = int(x.cpu().max())\n"
        "  taken = torch.empty([x.size(0), mib, 1 << 18], device=x.device)\n"
        "  scale = 1.0\n"
        "  if taken.numel() < 0:\n    scale = 2.0\n"
        "  return torch.linear(x, self.w) * scale\n",
        {});
  Write(folder + "needs.pt",
        "def forward(self, x):\n"
        "  taken = torch.empty([x.size(0), 16, 1 << 18], device=x.device)\n"
        "  scale = 1.0\n"
        "  if taken.numel() < 0:\n    scale = 2.0\n"
        "  return torch.linear(x, self.w) * scale\n",
        {});
  Write(folder + "centered.pt",
        "def forward(self, x):\n"
        "  return torch.linear(x - x.mean([0], True), self.w)\n",
        {});
  WriteHeavy(folder + "heavy.pt");
  WriteIds(folder + "ids.pt");
  WriteDeep(folder + "deep.pt", "x.flatten()");
  WriteDeep(folder + "deeper.pt", "x.flatten() + 5");
  return 0;
}
