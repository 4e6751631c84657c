// Libraries of custom operators, opened as ferry-server opens them.
#include "models/torch/op_library.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch_lane.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OpLibraryTest : public testing::Test {
 protected:
  // Saves a module whose forward(x) is ferry_test::twice(x).
  std::string SaveModule() const {
    using torch::jit::Graph;
    torch::jit::Module module("m");
    const auto graph = std::make_shared<Graph>();
    graph->addInput("self")->setType(module.type());
    torch::jit::Value* const x = graph->addInput("x");
    torch::jit::Node* const call = graph->insertNode(graph->create(
        c10::Symbol::fromQualString("ferry_test::twice"), {x}, 1));
    graph->registerOutput(call->output());
    const c10::QualifiedName name(*module.type()->name(), "forward");
    module.type()->addMethod(
        module._ivalue()->compilation_unit()->create_function(name, graph));
    module.save(folder_.path("model.pt"));
    return folder_.path("model.pt");
  }

  static ModelOptions Options() {
    ModelOptions options;
    options.name = "m";
    options.precision = Precision::kFp32;
    options.spec = {
        {{"x", DataType::kFp32, {3}}}, {{"y", DataType::kFp32, {3}}}, 4};
    return options;
  }

  const TempFolder folder_;
};

std::string Error(const std::string& path) {
  const absl::StatusOr<int> opened = LoadOpLibrary(path);
  EXPECT_FALSE(opened.ok());
  return std::string(opened.status().message());
}

TEST_F(OpLibraryTest, ModelCallsAnOperatorOnceItsLibraryIsOpen) {
  const std::string path = SaveModule();
  const auto without = TorchLane::Create(Options(), path);
  EXPECT_FALSE(without.ok());
  EXPECT_THAT(std::string(without.status().message()),
              HasSubstr("ferry_test::twice"));
  const absl::StatusOr<int> operators = LoadOpLibrary(FERRY_OP_LIBRARY);
  ASSERT_TRUE(operators.ok()) << operators.status();
  EXPECT_EQ(*operators, 1);
  auto lane = TorchLane::Create(Options(), path);
  ASSERT_TRUE(lane.ok()) << lane.status();
  const at::Tensor x = at::randn({2, 3});
  const LaneResult result = lane->Run({x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::equal(result.outputs[0], x + x));
}

TEST_F(OpLibraryTest, FilesThatCannotBeOpenedAreNamedWithTheReason) {
  EXPECT_THAT(Error(folder_.path("none.so")),
              AllOf(HasSubstr("cannot read"), HasSubstr("none.so")));
  EXPECT_THAT(Error(folder_.Write("text.so", "no library, but long enough")),
              AllOf(HasSubstr("text.so"), HasSubstr("expected one built")));
  EXPECT_THAT(Error(FERRY_FOREIGN_OP_LIBRARY),
              AllOf(HasSubstr("ferry_test_no_such_function"),
                    HasSubstr("expected one built for torch")));
}

}  // namespace
}  // namespace ferry
