// Tests which tensor of a config is which of a TorchScript forward(), through
// an instance, and configs that do not fit. The files are made here.
#include "gmock/gmock.h"
#include "models/torch/script/script_outputs.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ScriptTensorsTest = ScriptTest;

TEST_F(ScriptTensorsTest, SeveralInputsAndOutputsByName) {
  const at::Tensor a = at::arange(8).reshape({4, 2}).to(at::kInt);
  const at::Tensor b = at::arange(4).reshape({4, 1}).to(at::kFloat);
  // The config has them in another order than forward().
  const ModelOptions options =
      Options({{"b", DataType::kFp32, {1}}, {"a", DataType::kInt32, {2}}},
              {{"two", DataType::kFp32, {1}}, {"one", DataType::kInt32, {2}}});
  const char* const sources[] = {
      "def forward(self, a, b):\n"
      "  return {\"one\": a + 1, \"two\": b * 2}\n",
      "def forward(self, a, b):\n  return (b * 2, a + 1)\n"};
  for (const char* source : sources) {
    // A dict has one type in TorchScript, so both are tensors.
    const InstanceResult result = Run(source, options, {b, a});
    ASSERT_TRUE(result.outcome.ok()) << source;
    EXPECT_TRUE(at::equal(result.outputs[0], b * 2)) << source;
    EXPECT_TRUE(at::equal(result.outputs[1], a + 1)) << source;
  }
}

TEST_F(ScriptTensorsTest, IndexesInNamesPlaceTensors) {
  const at::Tensor a = at::ones({2, 3});
  const at::Tensor b = at::zeros({2, 3});
  const InstanceResult result =
      Run("def forward(self, p, q):\n  return (p + 1, q - 1)\n",
          Options({{"INPUT__1", DataType::kFp32, {3}},
                   {"INPUT__0", DataType::kFp32, {3}}},
                  {{"OUTPUT__1", DataType::kFp32, {3}},
                   {"OUTPUT__0", DataType::kFp32, {3}}}),
          {b, a});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], b - 1));
  EXPECT_TRUE(at::equal(result.outputs[1], a + 1));
}

TEST_F(ScriptTensorsTest, InputsWhoseNamesSayNothingComeInOrder) {
  const at::Tensor a = at::ones({2, 3});
  const at::Tensor b = at::zeros({2, 3});
  const InstanceResult result = Run(
      "def forward(self, p, q):\n  return p - q\n",
      Options({{"one", DataType::kFp32, {3}}, {"two", DataType::kFp32, {3}}},
              {{"y", DataType::kFp32, {3}}}),
      {a, b});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], a));
}

TEST_F(ScriptTensorsTest, IndexesInNamesMayLeaveOutOutputs) {
  const at::Tensor x = at::ones({2, 3});
  const char* const three =
      "def forward(self, x):\n  return (x, x + 1, x + 2)\n";
  const InstanceResult result =
      Run(three, Options({kX}, {{"o__2", DataType::kFp32, {3}}}), {x});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], x + 2));
  EXPECT_THAT(LoadError(three, Options({kX}, {{"o__3", DataType::kFp32, {3}}})),
              HasSubstr("outputs: the config has 1, the model gives 3"));
}

TEST_F(ScriptTensorsTest, FieldsOfANamedTuplePlaceTensors) {
  // Python's NamedTuple makes such a type; define() has no syntax for it.
  const auto pair = c10::TupleType::createNamed(
      c10::QualifiedName("__torch__.Pair"),
      std::vector<std::string>{"first", "second"},
      std::vector<c10::TypePtr>{c10::TensorType::get(),
                                c10::TensorType::get()});
  ASSERT_EQ(pair->schema()->arguments()[1].name(), "second");
  const ScriptOutputs outputs({{"second", DataType::kFp32, {}}},
                              {"first", "second"});
  Values picked;
  const c10::IValue value = c10::ivalue::Tuple::createNamed(
      std::vector<c10::IValue>{at::ones({1}), at::zeros({1})}, pair);
  ASSERT_TRUE(outputs.Pick(value, picked).ok());
  EXPECT_TRUE(at::equal(picked[0].toTensor(), at::zeros({1})));
  const auto named = NameOutputs(value, {"first", "second"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ((*named)[1].first, "second");
}

TEST_F(ScriptTensorsTest, OutputsInListsAreServed) {
  const at::Tensor x = at::ones({2, 3});
  const InstanceResult result = Run(
      "def forward(self, x):\n  return [x, x + 1]\n",
      Options({kX}, {{"a", DataType::kFp32, {3}}, {"b", DataType::kFp32, {3}}}),
      {x});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[1], x + 1));
}

TEST_F(ScriptTensorsTest, OutputsThatAreNoTensorsAreRefusedAtLoad) {
  const TensorSpec y = {"y", DataType::kFp32, {3}};
  const TensorSpec z = {"z", DataType::kFp32, {3}};
  EXPECT_THAT(LoadError("def forward(self, x):\n  return (x, (x, x))\n",
                        Options({kX}, {y, z})),
              HasSubstr("output 1: expected a tensor, the model gives Tuple"));
  EXPECT_THAT(LoadError("def forward(self, x):\n  return {\"y\": [x]}\n",
                        Options({kX}, {y})),
              HasSubstr("output 'y': expected a tensor, the model gives"));
  EXPECT_THAT(
      LoadError("def forward(self, x):\n  return 3\n", Options({kX}, {y})),
      HasSubstr("outputs: expected tensors, the model gives Int: "
                "return tensors"));
}

TEST_F(ScriptTensorsTest, InputsMayComeByNameInOneDict) {
  const std::string difference =
      "def forward(self, all: Dict[str, Tensor]):\n"
      "  return all[\"a\"] - all[\"b\"]\n";
  const TensorSpec a = {"a", DataType::kFp32, {3}};
  const TensorSpec b = {"b", DataType::kFp32, {3}};
  const at::Tensor one = at::ones({2, 3});
  const InstanceResult result =
      Run(difference, Options({b, a}, {{"y", DataType::kFp32, {3}}}),
          {one, one * 3});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::equal(result.outputs[0], one * 2));
  EXPECT_THAT(LoadError(difference, Options({a}, {kY})),
              HasSubstr("forward() of zeros fails, with 'a' [1,3]: "));
  EXPECT_THAT(
      LoadError(difference, Options({{"a", DataType::kBytes, {3}}, b}, {kY})),
      HasSubstr("input 'a': expected a tensor that each request brings, as "
                "forward() takes a Dict[str, Tensor], the config has BYTES"));
  EXPECT_THAT(LoadError(difference, Options({}, {})),
              HasSubstr("input { name: \"...\" data_type: TYPE_..."));
}

TEST_F(ScriptTensorsTest, ArgumentsThatAreNoTensorsAreRefused) {
  EXPECT_THAT(LoadError("def forward(self, x: List[Tensor]):\n"
                        "  return x[0]\n",
                        Options({kX}, {kY})),
              HasSubstr("input 'x': expected an argument of type Tensor, "
                        "Optional[Tensor] or List[str], forward() has 'x: "
                        "List[Tensor]'"));
}

TEST_F(ScriptTensorsTest, OutputsBehindThoseOfTheConfigAreLeftOut) {
  const at::Tensor x = at::ones({2, 3});
  const InstanceResult result =
      Run("def forward(self, x):\n  return (x + 1, x + 2)\n",
          Options({kX}, {{"y", DataType::kFp32, {3}}}), {x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::equal(result.outputs[0], x + 1));
}

TEST_F(ScriptTensorsTest, ConfigThatDoesNotFitIsRefusedAtLoad) {
  EXPECT_THAT(LoadError("def forward(self, x, y):\n  return x + y\n",
                        Options({kX, {"z", DataType::kFp32, {3}}}, {kY})),
              HasSubstr("input 'z': expected an argument of forward(x, y)"));
  EXPECT_THAT(
      LoadError(kLinear, Options({kX, {"z", DataType::kFp32, {3}}}, {kY})),
      HasSubstr("inputs: the config has 2, forward(x) takes 1"));
  EXPECT_THAT(
      LoadError(kLinear, Options({kX}, {kY, {"z", DataType::kFp32, {4}}})),
      HasSubstr("outputs: the config has 2, the model gives 1"));
  EXPECT_THAT(LoadError(kLinear, Options({kX}, {{"y", DataType::kFp32, {5}}})),
              HasSubstr("output 'y': expected shape [1,5], the model gives "
                        "[1,4]"));
  EXPECT_THAT(LoadError(kLinear, Options({kX}, {{"y", DataType::kInt64, {4}}})),
              HasSubstr("output 'y': expected INT64"));
  EXPECT_THAT(LoadError(kLinear, Options({{"x", DataType::kFp32, {9}}}, {kY})),
              AnyOf(HasSubstr("another size than its weights have"),  // packed
                    HasSubstr("mat1 and mat2 shapes")));
  EXPECT_THAT(LoadError("def forward(self, x):\n  return {\"other\": x}\n",
                        Options({kX}, {{"y", DataType::kFp32, {3}}})),
              HasSubstr("output 'y': the model gives other"));
}

}  // namespace
}  // namespace ferry
