// Tests which rows a probe runs, and where, by networks that note them.
#include "models/torch/network_probe.h"

#include <ATen/ATen.h>

#include <memory>

#include "gmock/gmock.h"
#include "models/torch/precision_check.h"

namespace ferry {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;

// Runs `forward` on its input, and notes the sizes of the rows.
class NotingNetwork final : public Network {
 public:
  explicit NotingNetwork(at::Tensor (*forward)(const at::Tensor&))
      : forward_(forward) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    sizes_.push_back(inputs[0].toTensor().size(1));
    outputs = {forward_(inputs[0].toTensor())};
    return absl::OkStatus();
  }

  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  at::Tensor (*const forward_)(const at::Tensor&);
  std::vector<int64_t> sizes_;
};

ModelOptions Options(Batching batching, std::vector<int64_t> dims) {
  ModelOptions options;
  options.name = "m";
  options.spec = {
      {{"x", DataType::kFp32, dims}}, {{"y", DataType::kFp32, dims}}, 8};
  options.batching = batching;
  return options;
}

// Returns what is found of a package, whose precision is not known.
std::string Mixed(at::Tensor (*forward)(const at::Tensor&), Batching batching,
                  std::vector<int32_t> buckets) {
  ModelOptions options = Options(batching, {4});
  options.buckets = std::move(buckets);
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork network(forward);
  probe.Find(network, Precision::kNative);
  LoadReport report;
  CheckRows(probe, network, Precision::kNative, options, report);
  EXPECT_TRUE(probe.has_run());
  if (!report.mixed_output.empty()) {
    EXPECT_EQ(options.batching, Batching::kOwnRowsOnly);
    EXPECT_THAT(options.buckets, IsEmpty());
  }
  return report.mixed_output;
}

at::Tensor Centered(const at::Tensor& x) { return x - x.mean(0, true); }
at::Tensor Doubled(const at::Tensor& x) { return x * 2; }

TEST(NetworkProbeTest, RowsThatMeetOthersOrPaddingAreComparedAlone) {
  EXPECT_EQ(Mixed(Centered, Batching::kAcrossRequests, {}), "y");
  EXPECT_EQ(Mixed(Centered, Batching::kOwnRowsOnly, {8}), "y");
  EXPECT_EQ(Mixed(Centered, Batching::kOwnRowsOnly, {}), "");
  EXPECT_EQ(Mixed(Doubled, Batching::kAcrossRequests, {8}), "");
}

TEST(NetworkProbeTest, SizesPast256AreRunOnAProcessor) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {kAnySize});
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork network(Doubled);
  probe.Find(network, Precision::kFp32);
  probe.RunMore(network, Precision::kFp32);
  EXPECT_THAT(network.sizes(), Contains(384));
  EXPECT_EQ(probe.largest_size(), 384);
}

// An index out of range is the end of a device.
TEST(NetworkProbeTest, SizesOnADeviceAreTheFirstThatItTakes) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {kAnySize});
  NetworkProbe probe(options, at::kMeta);
  NotingNetwork network(
      [](const at::Tensor& x) { return at::ones(x.sizes()); });
  probe.Find(network, Precision::kFp32);
  probe.RunMore(network, Precision::kFp32);
  EXPECT_GT(network.sizes().size(), 1u);
  EXPECT_THAT(network.sizes(), Each(16));
}

TEST(NetworkProbeTest, AnswersWithoutANumberAreNotKept) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {4});
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork network([](const at::Tensor& x) { return x / 0; });
  probe.Find(network, Precision::kFp32);
  EXPECT_FALSE(probe.has_run());
  EXPECT_EQ(probe.failure(), "it gives no finite number");
}

}  // namespace
}  // namespace ferry
