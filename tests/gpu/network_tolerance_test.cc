// Tests that the tolerances of network_cases.h tell bf16 from what is wrong:
// the processor's bf16 meets them, and rows that are mixed up, zeros, and
// padding do not. Runs without a device.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/gpu/network_cases.h"

namespace ferry {
namespace {

class NetworkToleranceTest : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(NetworkToleranceTest, Bf16MeetsItAndWhatIsWrongDoesNot) {
  const double tolerance = GetParam().tolerance;
  const ModelOptions exact = OptionsOf(GetParam().network, Precision::kFp32);
  const ModelOptions options = OptionsOf(GetParam().network, Precision::kBf16);
  const DifferentRows rows(exact.spec, kMostRows, /*seed=*/1);
  const at::Tensor reference = RunOnProcessor(exact, rows.batch());

  const double error =
      LargestError(RunOnProcessor(options, rows.batch()), reference);
  const double apart = SmallestDifference(reference);
  RecordProperty("error", std::to_string(error));
  RecordProperty("rows_apart", std::to_string(apart));
  EXPECT_LE(error, tolerance);
  EXPECT_GT(error, tolerance / 20) << "bf16 is not what computed";

  EXPECT_GT(apart, 2 * tolerance);
  EXPECT_GT(LargestError(at::zeros_like(reference), reference), tolerance);
  EXPECT_GT(LargestError(reference.roll({1}, {0}), reference), tolerance);
  EXPECT_GT(LargestError(reference.roll({1}, {1}), reference), tolerance);
  EXPECT_FALSE(LargestError(reference * NAN, reference) <= tolerance);
}

INSTANTIATE_TEST_SUITE_P(Networks, NetworkToleranceTest,
                         ::testing::ValuesIn(kNetworkCases),
                         [](const auto& one) {
                           return std::string(one.param.network);
                         });

}  // namespace
}  // namespace ferry
