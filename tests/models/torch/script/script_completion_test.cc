// Tests TorchScript models whose config leaves out tensors: what is found, and
// what is asked for. The files are made here.
#include "gmock/gmock.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ScriptCompletionTest : public ScriptTest {
 protected:
  // `traced`: the examples that the file keeps; none: as a scripted one.
  absl::StatusOr<TorchInstance> Load(const std::string& source,
                                     const ModelOptions& options,
                                     std::vector<c10::IValue> traced = {}) {
    torch::jit::Module module("m");
    at::manual_seed(3);
    module.register_parameter("w", at::randn({4, 3}), false);
    module.register_parameter("b", at::randn({4}), false);
    module.define(source);
    module.store_traced_inputs("forward", std::move(traced));
    const std::string path = folder_.path("model.pt");
    module.save(path);
    return TorchInstance::Create(options, path);
  }

  std::string LoadError(const std::string& source, const ModelOptions& options,
                        std::vector<c10::IValue> traced = {}) {
    const auto instance = Load(source, options, std::move(traced));
    EXPECT_FALSE(instance.ok());
    return std::string(instance.status().message());
  }

  static ModelOptions Options(std::vector<TensorSpec> inputs,
                              std::vector<TensorSpec> outputs, int32_t rows) {
    ModelOptions options =
        ScriptTest::Options(std::move(inputs), std::move(outputs));
    options.spec.max_batch_size = rows;
    return options;
  }
};

TEST_F(ScriptCompletionTest, OutputsAreFoundByProbes) {
  auto instance = Load(kLinear, Options({kX}, {}, 8));
  ASSERT_TRUE(instance.ok()) << instance.status();
  ASSERT_EQ(instance->spec().outputs.size(), 1u);
  EXPECT_EQ(instance->spec().outputs[0].name, "OUTPUT__0");
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp32) << "not bf16";
  EXPECT_THAT(instance->spec().outputs[0].dims, ElementsAre(4));
  const InstanceResult result = instance->Run({at::ones({2, 3})});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_EQ(result.outputs[0].sizes(), at::IntArrayRef({2, 4}));
}

TEST_F(ScriptCompletionTest, LinesToWriteAreOfTheSignature) {
  const std::string message = LoadError(
      "def forward(self, text: List[str], bonus: Optional[Tensor] = None) -> "
      "Tuple[List[str], Tensor]:\n"
      "  return (text, torch.ones(len(text)))\n",
      Options({}, {}, 0));
  for (const char* line :
       {"input { name: \"text\" data_type: TYPE_STRING dims: [ ... ] }",
        "input { name: \"bonus\" data_type: TYPE_... dims: [ ... ] optional: "
        "true }",
        "output { name: \"OUTPUT__0\" data_type: TYPE_STRING dims: [ ... ] }",
        "output { name: \"OUTPUT__1\" data_type: TYPE_... dims: [ ... ] }"}) {
    EXPECT_THAT(message, HasSubstr(line));
  }
}

TEST_F(ScriptCompletionTest, SizesThatVaryWithTheInputAreSeenToVary) {
  auto instance = Load(
      "def forward(self, x):\n"
      "  return (x.sum(1), x, x > 0, x.transpose(1, 2))\n",
      Options({{"x", DataType::kFp32, {kAnySize, 5}}}, {}, 8));
  ASSERT_TRUE(instance.ok()) << instance.status();
  const std::vector<TensorSpec>& outputs = instance->spec().outputs;
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_THAT(outputs[0].dims, ElementsAre(5));
  EXPECT_THAT(outputs[1].dims, ElementsAre(kAnySize, 5));
  EXPECT_EQ(outputs[2].type, DataType::kBool);
  EXPECT_EQ(outputs[3].name, "OUTPUT__3");
  EXPECT_THAT(outputs[3].dims, ElementsAre(5, kAnySize));
}

TEST_F(ScriptCompletionTest, OutputsOfADictHaveItsNames) {
  auto instance =
      Load("def forward(self, x):\n  return {\"one\": x, \"two\": x.long()}\n",
           Options({kX}, {}, 8));
  ASSERT_TRUE(instance.ok()) << instance.status();
  ASSERT_EQ(instance->spec().outputs.size(), 2u);
  EXPECT_EQ(instance->spec().outputs[0].name, "one");
  EXPECT_EQ(instance->spec().outputs[1].name, "two");
  EXPECT_EQ(instance->spec().outputs[1].type, DataType::kInt64);
}

TEST_F(ScriptCompletionTest, ProbesGiveADictWhereForwardTakesOne) {
  const char kSource[] =
      "def forward(self, all: Dict[str, Tensor]):\n"
      "  return {'sum': all['x'] + all['z'].sum(1, keepdim=True)}\n";
  const TensorSpec z = {"z", DataType::kInt64, {kAnySize}};
  auto instance = Load(kSource, Options({kX, z}, {}, 8));
  ASSERT_TRUE(instance.ok()) << instance.status();
  ASSERT_EQ(instance->spec().outputs.size(), 1u);
  EXPECT_EQ(instance->spec().outputs[0].name, "sum");
  EXPECT_THAT(instance->spec().outputs[0].dims, ElementsAre(3));

  EXPECT_THAT(LoadError(kSource, Options({kX}, {}, 8)),
              HasSubstr("a probe forward with zeros failed: "));
  EXPECT_THAT(LoadError(kSource, Options({}, {}, 8)),
              HasSubstr("input { name: \"...\""));
}

TEST_F(ScriptCompletionTest, WholeShapesWhereTheModelDoesNotBatch) {
  auto instance = Load("def forward(self, x):\n  return x.sum(0)\n",
                       Options({{"x", DataType::kFp32, {2, 3}}}, {}, 0));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_THAT(instance->spec().outputs[0].dims, ElementsAre(3));
}

TEST_F(ScriptCompletionTest, ProbesSeeWhatNormalizationMakesOfBytes) {
  ModelOptions options =
      Options({{"x", DataType::kUint8, {kAnySize, 6, 3}}}, {}, 8);
  options.normalizations = {Normalization{.channels = ChannelPlace::kLast}};
  auto instance = Load("def forward(self, x):\n  return x * 0.5\n", options);
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_THAT(instance->spec().outputs[0].dims, ElementsAre(3, kAnySize, 6));
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp32);
}

TEST_F(ScriptCompletionTest, TracedFileSaysAll) {
  auto instance = Load(
      "def forward(self, ids, x):\n"
      "  return torch.linear(x, self.w) + ids.sum(1, keepdim=True)\n",
      Options({}, {}, 0), {at::ones({5, 7}, at::kLong), at::randn({5, 3})});
  ASSERT_TRUE(instance.ok()) << instance.status();
  const ModelSpec& spec = instance->spec();
  EXPECT_EQ(spec.max_batch_size, 64);
  ASSERT_EQ(spec.inputs.size(), 2u);
  EXPECT_EQ(spec.inputs[0].name, "ids");
  EXPECT_EQ(spec.inputs[0].type, DataType::kInt64);
  EXPECT_THAT(spec.inputs[0].dims, ElementsAre(7));
  EXPECT_THAT(spec.inputs[1].dims, ElementsAre(3));
  EXPECT_THAT(spec.outputs[0].dims, ElementsAre(4));
  EXPECT_TRUE(instance->Run({at::ones({3, 7}, at::kLong), at::ones({3, 3})})
                  .outcome.ok());
}

TEST_F(ScriptCompletionTest, ModelThatMixesRowsIsNotBatched) {
  const char* const mixing[] = {
      "def forward(self, x):\n  return x - x.mean(0)\n",
      "def forward(self, x):\n  return x.softmax(0)\n",
      "def forward(self, x):\n  return x.sum(0)\n",
      "def forward(self, x):\n  return x.view([1, 3]) + 1\n"};
  for (const char* source : mixing) {
    auto instance = Load(source, Options({}, {}, 0), {at::randn({1, 3})});
    ASSERT_TRUE(instance.ok()) << source << instance.status();
    EXPECT_EQ(instance->spec().max_batch_size, 0) << source;
    EXPECT_THAT(instance->spec().inputs[0].dims, ElementsAre(1, 3)) << source;
  }
}

TEST_F(ScriptCompletionTest, WhatTheConfigSaysStays) {
  auto instance = Load(kLinear, Options({}, {{"y", DataType::kFp64, {4}}}, 16),
                       {at::randn({2, 3})});
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->spec().max_batch_size, 16);
  EXPECT_THAT(instance->spec().inputs[0].dims, ElementsAre(3));
  EXPECT_EQ(instance->spec().outputs[0].name, "y");
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp64);
}

TEST_F(ScriptCompletionTest, WhatTheFileDoesNotSayIsAskedFor) {
  const std::string message = LoadError(
      "def forward(self, x, mask):\n  return x * mask\n", Options({}, {}, 0));
  EXPECT_THAT(message, HasSubstr("the file does not keep the types and sizes"));
  EXPECT_THAT(message,
              HasSubstr("found forward(Tensor x, Tensor mask) -> Tensor"));
  EXPECT_THAT(message, HasSubstr("\nmax_batch_size: 64\n"));
  for (const char* name : {"input { name: \"x\"", "input { name: \"mask\"",
                           "output { name: \"OUTPUT__0\""}) {
    EXPECT_THAT(message, HasSubstr(name));
  }
}

TEST_F(ScriptCompletionTest, OutputsThatAreNoBatchesAreAskedFor) {
  const ModelOptions options = Options({kX}, {}, 8);
  EXPECT_THAT(LoadError("def forward(self, x):\n  return x.sum(0)\n", options),
              HasSubstr("probe forwards with 2 and 3 rows gave Float [3] and "
                        "[3] for 'OUTPUT__0'"));
  const std::string failed = LoadError(
      "def forward(self, x):\n  return torch.linear(x, self.w.t())\n", options);
  EXPECT_THAT(failed, HasSubstr("a probe forward with zeros failed"));
  EXPECT_THAT(failed, HasSubstr("; check the types and dims of the inputs "
                                "first"));
  EXPECT_THAT(failed, Not(HasSubstr("input { name")));
}

TEST_F(ScriptCompletionTest, OutputsThatAreNoTensorsAreRefused) {
  const ModelOptions options = Options({kX}, {}, 8);
  const std::pair<const char*, const char*> wrong[] = {
      {"def forward(self, x):\n  return (x, (x, x))\n",
       "output 'OUTPUT__1': expected a tensor, the model gives Tuple"},
      {"def forward(self, x):\n  return (x, 3)\n",
       "output 'OUTPUT__1': expected a tensor, the model gives Int"},
      {"def forward(self, x):\n  return [[x]]\n",
       "output 'OUTPUT__0': expected a tensor, the model gives GenericList"},
      {"def forward(self, x):\n  return {\"a\": [x]}\n",
       "output 'a': expected a tensor, the model gives GenericList"},
      {"def forward(self, x):\n  return \"text\"\n",
       "output 'OUTPUT__0': expected a tensor, the model gives String"}};
  for (const auto& [source, message] : wrong) {
    const std::string found = LoadError(source, options);
    EXPECT_THAT(found, HasSubstr(message)) << source;
    EXPECT_THAT(found, HasSubstr("one flat tuple, list or dict")) << source;
  }
}

}  // namespace
}  // namespace ferry
