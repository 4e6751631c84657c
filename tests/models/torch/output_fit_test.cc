// Tests OutputFit of networks that give fewer or more outputs than the spec
// has. What it says of shapes and types: torch_script_test.cc, warm_up_test.cc.
#include "models/torch/output_fit.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

class OutputFitTest : public ::testing::Test {
 protected:
  OutputFitTest() {
    options_.spec = {
        .inputs = {},
        .outputs = {{"y", DataType::kFp32, {2}}, {"z", DataType::kFp32, {2}}},
        .max_batch_size = 4};
  }

  absl::Status Fit(size_t count) {
    Values outputs(count, at::ones({3, 2}));
    return OutputFit(options_).Fit({}, 3, outputs);
  }

  ModelOptions options_;
};

TEST_F(OutputFitTest, AsManyAsTheSpecHasFit) {
  EXPECT_TRUE(Fit(2).ok()) << Fit(2);
}

TEST_F(OutputFitTest, FewerAndMoreAreRefusedWithBothCounts) {
  for (const size_t count : {0, 1, 3}) {
    const absl::Status status = Fit(count);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        std::string(status.message()),
        "outputs: the config has 2, the model gives " + std::to_string(count));
  }
}

}  // namespace
}  // namespace ferry
