// write_networks DIR: a repository of small TorchScript networks, with and
// without what 16-bit floats cannot hold, for the end-to-end tests and for
// scripts/show.sh, whose Python has no torch.
//
// Each network has beside its config and its file `rows.<input>`, rows unlike
// those that a server makes up, and `expected`, what the module gives for them
// in fp32, both as on the wire. DIR/networks.json lists them:
// [{"name", "rows", "output", "inputs": [{"name", "type", "dims"}]}].
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace {

constexpr int64_t kRows = 16;

struct Tensor {
  std::string name;
  at::Tensor value;
};

struct Input {
  std::string name;
  at::Tensor rows;  // [kRows, ...]
};

struct Network {
  std::string name;
  std::vector<Tensor> parameters;
  std::vector<Tensor> buffers;
  std::vector<Input> inputs;
  std::string body;  // of forward(); the inputs are its arguments
};

at::Tensor Normal(std::vector<int64_t> dims, double scale) {
  return at::randn(dims) * scale;
}

at::Tensor Floats(std::vector<int64_t> dims) {
  dims.insert(dims.begin(), kRows);
  return Normal(dims, 2);
}

at::Tensor Ids(int64_t count, int64_t end) {
  return at::randint(end, {kRows, count}, at::kLong);
}

at::Tensor Causal(int64_t size, double masked) {
  return at::full({size, size}, masked).triu(1);
}

// Positions, frequencies, anchors, offsets, counts and sums.
void AddPositions(std::vector<Network>& all) {
  const at::Tensor frequencies = at::tensor({0.3F, 0.1F, 0.03F, 0.01F});
  const Input x512 = {"x", Floats({512})};
  const std::string waves =
      "  t = torch.arange(x.shape[1]).float()\n"
      "  f = torch.outer(t, self.freq.float())\n";
  all.push_back({"frequencies",
                 {},
                 {{"freq", frequencies}},
                 {x512},
                 waves + "  return f.cos().expand(x.shape[0], -1, 4)\n"});
  all.push_back({"rotary",
                 {},
                 {{"freq", frequencies}},
                 {{"x", Floats({512, 8})}},
                 waves + "  c = torch.cat([f, f], 1).cos()\n"
                         "  s = torch.cat([f, f], 1).sin()\n"
                         "  h = torch.cat([-x[:, :, 4:], x[:, :, :4]], 2)\n"
                         "  return x * c + h * s\n"});
  all.push_back({"rotary-typed",
                 {{"freq", frequencies}},
                 {},
                 {{"x", Floats({512, 4})}},
                 "  t = torch.arange(x.shape[1]).to(x.dtype)\n"
                 "  return x * torch.outer(t, self.freq).cos()\n"});
  all.push_back({"positions-typed",
                 {},
                 {},
                 {x512},
                 "  t = torch.arange(x.shape[1]).to(x.dtype)\n"
                 "  return x * torch.sin(t)\n"});
  all.push_back({"positions-counted",
                 {},
                 {},
                 {x512},
                 "  t = torch.arange(x.shape[1]).to(x.dtype)\n"
                 "  return torch.remainder(t, 2.0).expand(x.shape[0], -1)\n"});
  all.push_back({"positions-table",
                 {{"w", Normal({8, 8}, 0.3)}},
                 {{"table", Normal({64, 8}, 1)}},
                 {{"x", Floats({64, 8})}},
                 "  return torch.linear(x + self.table, self.w)\n"});
  all.push_back({"anchors",
                 {},
                 {{"anchors", at::rand({100, 4}) * 1000}},
                 {{"x", Floats({100, 4})}},
                 "  return (self.anchors + x) - self.anchors[:1]\n"});
  all.push_back(
      {"boxes",
       {{"w", Normal({400, 16}, 0.05)}},
       {{"anchors", at::rand({100, 4}) * 1000}},
       {{"x", Floats({16})}},
       "  d = torch.linear(x, self.w).view([-1, 100, 4])\n"
       "  xy = self.anchors[:, :2] + d[:, :, :2] * self.anchors[:, 2:]\n"
       "  wh = self.anchors[:, 2:] * torch.exp(d[:, :, 2:])\n"
       "  return torch.cat([xy - wh / 2, xy + wh / 2], 2)\n"});
  all.push_back({"class-offsets",
                 {},
                 {},
                 {{"x", Floats({20, 4})}, {"c", Ids(20, 80)}},
                 "  o = c.to(x.dtype).unsqueeze(2) * 4096\n"
                 "  return (x + o) - o\n"});
  all.push_back({"positions-given",
                 {{"w", at::tensor({1.0F, 0.1F, 0.01F, 0.001F})}},
                 {},
                 {{"p", Ids(16, 1000)}},
                 "  t = p.to(self.w.dtype)\n"
                 "  return torch.cos(t.unsqueeze(2) * self.w)\n"});
  all.push_back(
      {"parity",
       {{"w", at::ones({16})}},
       {},
       {{"p", Ids(16, 1000)}},
       "  return torch.remainder(p.to(self.w.dtype), 2.0) * self.w\n"});
  all.push_back({"pixels",
                 {},
                 {},
                 {{"x", Floats({1, 1, 300})}},
                 "  u = torch.arange(x.shape[3]).to(x.dtype)\n"
                 "  return x * torch.cos(u * 0.5)\n"});
  all.push_back({"cumulative-sum",
                 {},
                 {},
                 {{"x", Floats({1000})}},
                 "  return torch.cumsum(x, 1)\n"});
  all.push_back({"cumulative-differences",
                 {},
                 {},
                 {{"x", Floats({1000})}},
                 "  s = torch.cumsum(x * x, 1)\n"
                 "  return s[:, 1:] - s[:, :-1]\n"});
  all.push_back({"counts",
                 {},
                 {},
                 {{"x", Floats({1000})}},
                 "  n = (x * x >= 0).to(x.dtype).cumsum(1)\n"
                 "  return torch.remainder(n, 3.0)\n"});
  all.push_back({"thresholds",
                 {},
                 {{"least", at::rand({64})}},
                 {{"x", Floats({64})}},
                 "  return torch.relu(x - self.least)\n"});
  all.push_back(
      {"filters",
       {},
       {{"banks", at::rand({80, 201})}},
       {{"x", at::rand({kRows, 201}) * 50}},
       "  return torch.log(torch.matmul(x, self.banks.t()) + 1e-6)\n"});
  all.push_back({"phase",
                 {},
                 {},
                 {{"x", Floats({8})}},
                 "  return torch.sin(x * 1000)\n"});
}

// Times, ids and sums that come as inputs; types that a cast does not see.
void AddTimesAndTypes(std::vector<Network>& all) {
  const at::Tensor frequencies = at::exp(at::arange(8) * -1.15);
  const std::string waves =
      "  a = t.to(x.dtype) * self.freq.to(x.dtype)\n"
      "  e = torch.cat([a.sin(), a.cos()], 1)\n"
      "  return x + torch.linear(e, self.w)\n";
  const Tensor w = {"w", Normal({8, 16}, 0.3)};
  const Input x8 = {"x", Floats({8})};
  all.push_back({"time-embedding",
                 {w},
                 {{"freq", frequencies}},
                 {x8, {"t", at::rand({kRows, 1}) * 1000}},
                 waves});
  all.push_back({"time-embedding-of-steps",
                 {w},
                 {{"freq", frequencies}},
                 {x8, {"t", Ids(1, 1000)}},
                 waves});
  all.push_back({"epoch",
                 {},
                 {{"base", at::full({8}, 1.7e9, at::kDouble)}},
                 {x8},
                 "  return ((x + self.base) - self.base).float()\n"});
  all.push_back({"ids-in-a-buffer",
                 {{"w", Normal({400, 4}, 1)}},
                 {{"at", at::arange(300)}},
                 {{"x", Floats({300, 4})}},
                 "  return x + torch.embedding(self.w, self.at)\n"});
  all.push_back({"ids-in-floats",
                 {{"w", Normal({400, 4}, 1)}},
                 {{"at", at::arange(300).to(at::kFloat)}},
                 {{"x", Floats({300, 4})}},
                 "  return x + torch.embedding(self.w, self.at.long())\n"});
  all.push_back({"ids-typed",
                 {{"w", Normal({400, 4}, 1)}},
                 {},
                 {{"x", Floats({300, 4})}},
                 "  at = torch.arange(x.shape[1]).to(x.dtype)\n"
                 "  return x + torch.embedding(self.w, at.long())\n"});
  all.push_back({"complex",
                 {},
                 {{"turn", at::polar(at::ones({17}), at::arange(17) * 0.1)}},
                 {{"x", Floats({32})}},
                 "  s = torch.fft_rfft(x.float()) * self.turn\n"
                 "  return torch.fft_irfft(s)\n"});
  all.push_back({"linspace",
                 {},
                 {},
                 {{"x", Floats({300})}},
                 "  g = torch.linspace(0, 299, 300).to(x.dtype)\n"
                 "  return x * torch.cos(g * 0.7)\n"});
  all.push_back({"large-mean",
                 {{"w", Normal({8, 32}, 0.2)}},
                 {},
                 {{"x", Floats({32})}},
                 "  x = x + 1000.0\n"
                 "  m = x.mean(1, keepdim=True)\n"
                 "  v = ((x - m) * (x - m)).mean(1, keepdim=True)\n"
                 "  return torch.linear((x - m) / (v + 1e-6).sqrt(), self.w)"
                 "\n"});
  all.push_back({"halves",
                 {{"w", Normal({8, 32}, 0.2).to(at::kHalf)}},
                 {{"b", Normal({8}, 0.2).to(at::kHalf)}},
                 {{"x", Floats({32})}},
                 "  return torch.linear(x.to(self.w.dtype), self.w).float() + "
                 "self.b\n"});
}

void AddMasksAndNorms(std::vector<Network>& all) {
  const Tensor query = {"q", Normal({8, 8}, 0.4)};
  const Tensor key = {"k", Normal({8, 8}, 0.4)};
  const std::string scores =
      "  s = torch.matmul(torch.linear(x, self.q), "
      "torch.linear(x, self.k).transpose(1, 2)) / 8.0\n";
  const Input sequence = {"x", Floats({24, 8})};
  all.push_back({"mask-added",
                 {query, key},
                 {{"mask", Causal(24, -1e9)}},
                 {sequence},
                 scores +
                     "  return torch.matmul(torch.softmax(s + self.mask, 2), "
                     "x)\n"});
  all.push_back(
      {"mask-infinite",
       {query, key},
       {{"mask", Causal(24, -std::numeric_limits<double>::infinity())}},
       {sequence},
       scores + "  return torch.matmul(torch.softmax(s + self.mask, 2), x)\n"});
  all.push_back({"mask-bool",
                 {query, key},
                 {{"mask", Causal(24, 1).to(at::kBool)}},
                 {sequence},
                 scores + "  s = s.masked_fill(self.mask, -1e9)\n"
                          "  return torch.matmul(torch.softmax(s, 2), x)\n"});
  all.push_back(
      {"mask-of-clients",
       {{"w", Normal({100, 8}, 1)}},
       {},
       {{"ids", Ids(24, 100)}, {"attention_mask", Ids(24, 2).clamp_min(0)}},
       "  m = attention_mask.unsqueeze(2)\n"
       "  e = torch.embedding(self.w, ids) * m\n"
       "  return e.sum(1) / (m.sum(1) + 1e-6)\n"});
  const std::vector<Tensor> convolution = {{"w", Normal({16, 3, 3, 3}, 0.2)},
                                           {"g", at::rand({16}) + 0.5},
                                           {"b", Normal({16}, 0.1)}};
  const std::vector<Tensor> statistics = {{"mean", Normal({16}, 0.5)},
                                          {"var", at::rand({16}) + 0.5}};
  const Input image = {"x", at::rand({kRows, 3, 16, 16})};
  const std::string norm =
      "self.g, self.b, self.mean, self.var, False, 0.1, 1e-5, True)\n";
  all.push_back({"batch-norm",
                 convolution,
                 statistics,
                 {image},
                 "  return torch.batch_norm(torch.conv2d(x, self.w), " + norm});
  all.push_back({"batch-norm-late",
                 convolution,
                 statistics,
                 {image},
                 "  x = torch.relu(torch.conv2d(x, self.w))\n"
                 "  return torch.batch_norm(x, " +
                     norm});
  all.push_back({"image-normalized",
                 convolution,
                 {{"mean", at::full({3, 1, 1}, 0.45)},
                  {"std", at::full({3, 1, 1}, 0.22)}},
                 {image},
                 "  x = (x - self.mean) / self.std\n"
                 "  return torch.conv2d(x, self.w, self.b).relu()\n"});
  all.push_back({"group-norm",
                 convolution,
                 {},
                 {image},
                 "  x = torch.conv2d(x, self.w)\n"
                 "  return torch.group_norm(x, 4, self.g, self.b, 1e-5)\n"});
  all.push_back({"layer-norm",
                 {{"w", Normal({32, 32}, 0.2)},
                  {"g", at::rand({32}) + 0.5},
                  {"b", Normal({32}, 0.1)}},
                 {},
                 {{"x", Floats({32})}},
                 "  x = torch.linear(x, self.w)\n"
                 "  return torch.layer_norm(x, [32], self.g, self.b)\n"});
  all.push_back({"rms-norm",
                 {{"w", Normal({32, 32}, 0.2)}, {"g", at::rand({32}) + 0.5}},
                 {},
                 {{"x", Floats({32})}},
                 "  y = x * torch.rsqrt((x * x).mean(1, keepdim=True) + "
                 "1e-6)\n"
                 "  return torch.linear(y * self.g, self.w)\n"});
}

void AddOthers(std::vector<Network>& all) {
  const Input x32 = {"x", Floats({32})};
  const std::vector<Tensor> layers = {{"w", Normal({64, 32}, 0.2)},
                                      {"b", Normal({64}, 0.1)},
                                      {"v", Normal({10, 64}, 0.2)}};
  const std::string mlp =
      "  y = torch.linear(torch.relu(torch.linear(x, self.w, self.b)), "
      "self.v)\n";
  all.push_back({"mlp", layers, {}, {x32}, mlp + "  return y\n"});
  all.push_back(
      {"softmax", layers, {}, {x32}, mlp + "  return torch.softmax(y, 1)\n"});
  all.push_back({"argmax",
                 layers,
                 {},
                 {x32},
                 mlp + "  return torch.argmax(y, 1, keepdim=True)\n"});
  all.push_back(
      {"weights-as-buffers", {}, layers, {x32}, mlp + "  return y\n"});
  all.push_back(
      {"convolution",
       {{"w", Normal({16, 3, 3, 3}, 0.2)}},
       {},
       {{"x", at::rand({kRows, 3, 16, 16})}},
       "  return torch.relu(torch.conv2d(x, self.w)).mean([2, 3])\n"});
  all.push_back({"embedding",
                 {{"w", Normal({1000, 16}, 1)}, {"v", Normal({8, 16}, 0.3)}},
                 {},
                 {{"ids", Ids(24, 1000)}},
                 "  e = torch.embedding(self.w, ids).mean(1)\n"
                 "  return torch.linear(e, self.v)\n"});
  all.push_back({"embedding-with-positions",
                 {{"w", Normal({1000, 16}, 1)}, {"p", Normal({24, 16}, 1)}},
                 {{"at", at::arange(24)}},
                 {{"ids", Ids(24, 1000)}},
                 "  e = torch.embedding(self.w, ids)\n"
                 "  return e + torch.embedding(self.p, self.at)\n"});
  all.push_back({"upcast",
                 {{"w", Normal({8, 32}, 0.2)}},
                 {},
                 {x32},
                 "  return torch.linear(x.float(), self.w)\n"});
  all.push_back({"branch",
                 {{"w", Normal({8, 32}, 0.2)}},
                 {},
                 {x32},
                 "  if bool((x > 0).any()):\n"
                 "    x = x + torch.ones([32])\n"
                 "  return torch.linear(x, self.w)\n"});
  all.push_back(
      {"spectrum", {}, {}, {x32}, "  return torch.fft_rfft(x).abs()\n"});
  all.push_back({"reciprocal",
                 {},
                 {},
                 {{"n", Ids(4, 50) + 1}},
                 "  assert bool((n > 0).all())\n  return 1.0 / n\n"});
  all.push_back({"mixed-rows",
                 {{"w", Normal({8, 32}, 0.2)}},
                 {},
                 {x32},
                 "  x = x / x.abs().max()\n"
                 "  return torch.linear(x, self.w)\n"});
  all.push_back({"memory",
                 {{"u", Normal({8, 8}, 0.3)}, {"w", Normal({8, 8}, 0.3)}},
                 {},
                 {{"x", Floats({50, 8})}},
                 "  h = torch.zeros_like(x[:, 0])\n"
                 "  for i in range(x.shape[1]):\n"
                 "    h = torch.tanh(torch.linear(h, self.u) + "
                 "torch.linear(x[:, i], self.w))\n"
                 "  return h\n"});
}

std::string TypeName(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? "FP32" : "INT64";
}

std::string Dims(const at::Tensor& rows) {
  return absl::StrJoin(rows.sizes().slice(1), ", ");
}

void WriteBytes(const std::filesystem::path& path, const at::Tensor& tensor) {
  const at::Tensor own = tensor.contiguous();
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(own.data_ptr()),
             static_cast<std::streamsize>(own.nbytes()));
}

std::string Spec(const char* side, const std::string& name,
                 const at::Tensor& rows) {
  return absl::StrCat(side, " { name: \"", name, "\" data_type: TYPE_",
                      TypeName(rows), " dims: [ ", Dims(rows), " ] }\n");
}

// Returns its entry of the list.
std::string Write(const std::filesystem::path& folder, const Network& network) {
  torch::jit::Module module("m");
  for (const Tensor& parameter : network.parameters) {
    module.register_parameter(parameter.name, parameter.value, false);
  }
  for (const Tensor& buffer : network.buffers) {
    module.register_buffer(buffer.name, buffer.value);
  }
  std::vector<std::string> names;
  std::vector<std::string> listed;
  std::string config = "platform: \"pytorch_libtorch\"\nmax_batch_size: 32\n";
  std::filesystem::create_directories(folder / "1");
  for (const Input& input : network.inputs) {
    names.push_back(input.name);
    listed.push_back(absl::StrCat("{\"name\": \"", input.name,
                                  "\", \"type\": \"", TypeName(input.rows),
                                  "\", \"dims\": [", Dims(input.rows), "]}"));
    absl::StrAppend(&config, Spec("input", input.name, input.rows));
    WriteBytes(folder / absl::StrCat("rows.", input.name), input.rows);
  }
  module.define(absl::StrCat("def forward(self, ", absl::StrJoin(names, ", "),
                             "):\n", network.body));
  std::vector<at::Tensor> answers;
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<c10::IValue> alone;
    for (const Input& input : network.inputs) {
      alone.emplace_back(input.rows.narrow(0, row, 1));
    }
    answers.push_back(module.forward(alone).toTensor());
  }
  const at::Tensor expected = at::cat(answers);
  WriteBytes(folder / "expected", expected);
  absl::StrAppend(&config, Spec("output", "y", expected),
                  "dynamic_batching {}\n");
  std::ofstream(folder / "config.pbtxt") << config;
  module.save(folder / "1" / "model.pt");
  return absl::StrCat("{\"name\": \"", network.name, "\", \"rows\": ", kRows,
                      ", \"output\": \"", TypeName(expected),
                      "\", \"inputs\": [", absl::StrJoin(listed, ", "), "]}");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 1;
  }
  const std::filesystem::path folder = argv[1];
  at::manual_seed(11);
  std::vector<Network> all;
  AddPositions(all);
  AddTimesAndTypes(all);
  AddMasksAndNorms(all);
  AddOthers(all);
  std::vector<std::string> listed;
  for (const Network& network : all) {
    listed.push_back(Write(folder / network.name, network));
  }
  std::ofstream(folder / "networks.json")
      << "[" << absl::StrJoin(listed, ",\n ") << "]\n";
  return 0;
}
