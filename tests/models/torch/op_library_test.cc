// Tests that libraries of custom operators open as ferry-server opens them.
#include "models/torch/op_library.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/torch_instance.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OpLibraryTest : public testing::Test {
 protected:
  // Saves a module whose forward(x) is ferry_test::twice(x). Torch saves no
  // module with operators that it does not know, so another's code is changed.
  std::string SaveModule() const {
    torch::jit::Module module("m");
    module.define("def forward(self, x):\n  return torch.neg(x)\n");
    module.save(folder_.path("other.pt"));
    caffe2::serialize::PyTorchStreamReader reader(folder_.path("other.pt"));
    caffe2::serialize::PyTorchStreamWriter writer(folder_.path("model.pt"));
    for (const std::string& name : reader.getAllRecords()) {
      const auto [data, size] = reader.getRecord(name);
      std::string record(static_cast<const char*>(data.get()), size);
      if (absl::EndsWith(name, ".py")) {
        record = absl::StrReplaceAll(record,
                                     {{"torch.neg(", "ops.ferry_test.twice("}});
      }
      if (!absl::StartsWith(name, ".data/") && name != "version") {
        writer.writeRecord(name, record.data(), record.size());
      }
    }
    writer.writeEndOfFile();
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
  const auto without = TorchInstance::Create(Options(), path);
  EXPECT_FALSE(without.ok());
  EXPECT_THAT(std::string(without.status().message()),
              AllOf(HasSubstr("ferry_test::twice"), HasSubstr("--op-library")));
  const absl::StatusOr<int> operators = LoadOpLibrary(FERRY_OP_LIBRARY);
  ASSERT_TRUE(operators.ok()) << operators.status();
  EXPECT_EQ(*operators, 1);
  auto instance = TorchInstance::Create(Options(), path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const at::Tensor x = at::randn({2, 3});
  const InstanceResult result = instance->Run({x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::equal(result.outputs[0], x + x));
}

TEST_F(OpLibraryTest, FilesThatCannotBeOpenedAreNamedWithTheReason) {
  EXPECT_THAT(Error(folder_.path("none.so")),
              AllOf(HasSubstr("cannot read"), HasSubstr("none.so")));
  EXPECT_THAT(Error(folder_.Write("text.so", "no library, but long enough")),
              AllOf(HasSubstr("text.so"), HasSubstr("expected one built")));
  std::ifstream whole(FERRY_OP_LIBRARY, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  EXPECT_THAT(Error(folder_.Write("cut.so", bytes.substr(0, bytes.size() / 2))),
              AllOf(HasSubstr("cut.so"), HasSubstr("its library is cut")));
  EXPECT_THAT(Error(FERRY_FOREIGN_OP_LIBRARY),
              AllOf(HasSubstr("ferry_test_no_such_function"),
                    HasSubstr("expected one built for torch")));
}

}  // namespace
}  // namespace ferry
