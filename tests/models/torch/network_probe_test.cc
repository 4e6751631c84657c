// Tests which rows a probe runs, and where, by networks that note them.
#include "models/torch/network_probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "models/torch/precision_check.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Runs `forward` on its input, and notes the sizes of the rows and their sums.
class NotingNetwork final : public Network {
 public:
  // Each run takes so long on `clock`.
  explicit NotingNetwork(at::Tensor (*forward)(const at::Tensor&),
                         FakeClock* clock = nullptr,
                         Duration takes = Duration(0))
      : forward_(forward), clock_(clock), takes_(takes) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    if (clock_ != nullptr) {
      clock_->Advance(takes_);
    }
    const at::Tensor& x = inputs[0].toTensor();
    sizes_.push_back(x.size(-1));
    if (x.device().is_cpu()) {
      sums_.push_back(x.sum().item<double>());
    }
    const at::Tensor y = forward_(x);
    if (!y.defined()) {
      return absl::InternalError("too many rows");
    }
    outputs = {y};
    return absl::OkStatus();
  }

  int warm_up_runs() const override { return 3; }

  const std::vector<int64_t>& sizes() const { return sizes_; }
  const std::vector<double>& sums() const { return sums_; }

 private:
  at::Tensor (*const forward_)(const at::Tensor&);
  FakeClock* const clock_;
  const Duration takes_;
  std::vector<int64_t> sizes_;
  std::vector<double> sums_;
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
LoadReport Found(at::Tensor (*forward)(const at::Tensor&), Batching batching,
                 std::vector<int32_t> buckets, Duration takes = Duration(0),
                 Precision precision = Precision::kNative) {
  ModelOptions options = Options(batching, {4});
  options.buckets = std::move(buckets);
  FakeClock clock;
  NetworkProbe probe(options, at::kCPU, clock);
  NotingNetwork network(forward, &clock, takes);
  probe.Find(network, precision);
  LoadReport report;
  CheckRows(probe, network, precision, options, report);
  EXPECT_TRUE(probe.has_run());
  if (!report.mixed_output.empty()) {
    EXPECT_EQ(options.batching, Batching::kOwnRowsOnly);
    EXPECT_THAT(options.buckets, IsEmpty());
  }
  return report;
}

std::string Mixed(at::Tensor (*forward)(const at::Tensor&), Batching batching,
                  std::vector<int32_t> buckets) {
  return Found(forward, batching, std::move(buckets)).mixed_output;
}

at::Tensor Centered(const at::Tensor& x) { return x - x.mean(0, true); }
at::Tensor Doubled(const at::Tensor& x) { return x * 2; }
// In a full batch alone.
at::Tensor CenteredIfMany(const at::Tensor& x) {
  return x.size(0) == 8 ? Centered(x) : x;
}
// Zeros in place of rows that came before.
at::Tensor WithoutRepeats(const at::Tensor& x) {
  const at::Tensor alike = at::cdist(x, x).eq(0).to(at::kFloat);
  return 0.001 * x * at::tril(alike, -1).sum(1, true).eq(0);
}
at::Tensor WithoutNeighborsAlike(const at::Tensor& x) {
  at::Tensor y = x.clone();
  y.slice(0, 1).mul_(x.slice(0, 1).ne(x.slice(0, 0, -1)));
  return y;
}
at::Tensor Drawn(const at::Tensor& x) { return at::rand_like(x); }
// An integer or two of each row, of which few are not many.
at::Tensor LargestOfCentered(const at::Tensor& x) {
  return Centered(x).argmax(1, true);
}
at::Tensor SignOfCentered(const at::Tensor& x) {
  return Centered(x).gt(0).to(at::kLong).slice(1, 0, 2);
}
at::Tensor Largest(const at::Tensor& x) { return x.argmax(1, true); }
// Kernels of 16 bits for other sizes of a batch do so.
at::Tensor Rounded(const at::Tensor& x) {
  const at::Tensor is_large = x.abs().amax(1, true).gt(0.25).to(at::kFloat);
  return is_large + (1 - is_large) * (x.size(0) == 1 ? 0.001 : 0.002);
}
at::Tensor DoubledIfFew(const at::Tensor& x) {
  return x.size(0) > 8 ? at::Tensor() : x * 2;
}
// Memory ends at four rows.
at::Tensor DoubledInLittleMemory(const at::Tensor& x) {
  TORCH_CHECK_WITH(OutOfMemoryError, x.size(0) < 4, "no memory");
  return x * 2;
}
at::Tensor WithoutMemory(const at::Tensor& x) {
  TORCH_CHECK_WITH(OutOfMemoryError, x.size(0) == 0, "no memory");
  return x;
}
at::Tensor BelowHundred(const at::Tensor& x) {
  TORCH_CHECK(x.max().item<int64_t>() < 100, "index out of range");
  return x.to(at::kFloat);
}
at::Tensor ZerosIfOne(const at::Tensor& x) {
  return x.size(0) == 1 ? at::zeros_like(x) : 0.001 * x;
}
at::Tensor ZerosIfMany(const at::Tensor& x) {
  return x.size(0) > 1 ? at::zeros_like(x) : 0.001 * x;
}

TEST(NetworkProbeTest, RowsThatMeetOthersOrPaddingAreComparedAlone) {
  EXPECT_EQ(Mixed(Centered, Batching::kAcrossRequests, {}), "y");
  EXPECT_EQ(Mixed(Centered, Batching::kOwnRowsOnly, {8}), "y");
  EXPECT_EQ(Mixed(Centered, Batching::kOwnRowsOnly, {}), "");
  EXPECT_EQ(Mixed(Doubled, Batching::kAcrossRequests, {8}), "");
}

TEST(NetworkProbeTest, RowsOfAFullBatchAndRowsAlikeAreLookedAt) {
  EXPECT_EQ(Mixed(CenteredIfMany, Batching::kAcrossRequests, {}), "y");
  EXPECT_EQ(Mixed(WithoutRepeats, Batching::kAcrossRequests, {}), "y");
  EXPECT_EQ(Mixed(WithoutNeighborsAlike, Batching::kAcrossRequests, {}), "y");
  for (at::Tensor (*const forward)(const at::Tensor&) :
       {ZerosIfOne, ZerosIfMany}) {
    EXPECT_EQ(Mixed(forward, Batching::kAcrossRequests, {}), "y");
  }
}

TEST(NetworkProbeTest, RowsAlikeAreLookedAtHoweverLongARunTakes) {
  EXPECT_EQ(Found(WithoutRepeats, Batching::kAcrossRequests, {},
                  std::chrono::seconds(10))
                .mixed_output,
            "y");
}

TEST(NetworkProbeTest, FullBatchThatFailsLeavesWhatFewRowsHaveShown) {
  ModelOptions options = Options(Batching::kAcrossRequests, {4});
  options.spec.max_batch_size = 16;
  const FakeClock clock;
  NetworkProbe probe(options, at::kCPU, clock);
  NotingNetwork network(DoubledIfFew);
  probe.Find(network, Precision::kNative);
  LoadReport report;
  CheckRows(probe, network, Precision::kNative, options, report);
  EXPECT_TRUE(report.has_independent_rows);
  EXPECT_THAT(report.why_rows_unknown, IsEmpty());
  EXPECT_EQ(report.why_no_full_batch, "16 rows: too many rows");
}

TEST(NetworkProbeTest, RoundingOfARowNearZeroIsNoOtherAnswer) {
  EXPECT_TRUE(
      Found(Rounded, Batching::kAcrossRequests, {}).has_independent_rows);
}

// Rounding may change some, too: they tell neither.
TEST(NetworkProbeTest, IntegersThatDifferAreNeitherMixedNorIndependent) {
  for (at::Tensor (*const forward)(const at::Tensor&) :
       {LargestOfCentered, SignOfCentered}) {
    const LoadReport report = Found(forward, Batching::kAcrossRequests, {});
    EXPECT_EQ(report.mixed_output, "");
    EXPECT_FALSE(report.has_independent_rows);
    EXPECT_THAT(report.why_not_independent,
                HasSubstr("integers of output 'y' differ"));
    EXPECT_EQ(report.why_rows_unsure, report.why_not_independent);
    EXPECT_THAT(Found(forward, Batching::kOwnRowsOnly, {}).why_rows_unsure,
                IsEmpty());
    EXPECT_EQ(Found(forward, Batching::kAcrossRequests, {}, Duration(0),
                    Precision::kFp32)
                  .mixed_output,
              "y");
  }
  EXPECT_TRUE(Found(Largest, Batching::kOwnRowsOnly, {}).has_independent_rows);
}

TEST(NetworkProbeTest, RowsAreIndependentWhereTheyWereComparedAndAlike) {
  for (const Batching batching :
       {Batching::kOwnRowsOnly, Batching::kAcrossRequests}) {
    EXPECT_TRUE(Found(Doubled, batching, {}).has_independent_rows);
    EXPECT_THAT(Found(Doubled, batching, {}).why_rows_unsure, IsEmpty());
    for (at::Tensor (*const forward)(const at::Tensor&) :
         {Centered, CenteredIfMany, WithoutRepeats, Drawn}) {
      const LoadReport report = Found(forward, batching, {});
      EXPECT_FALSE(report.has_independent_rows);
      EXPECT_THAT(report.why_not_independent, Not(IsEmpty()));
    }
  }
}

TEST(NetworkProbeTest, SizesPast256AreRunOnAProcessor) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {kAnySize});
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork network(Doubled);
  probe.Find(network, Precision::kFp32);
  probe.RunMore(network, Precision::kFp32);
  EXPECT_THAT(network.sizes(), Contains(384));
  EXPECT_EQ(probe.largest_size(), 384);
  EXPECT_FALSE(probe.leaves_out_sizes());
}

// The sums of the batches that are compared.
std::vector<double> ComparedSums(const ModelOptions& options,
                                 at::Tensor (*forward)(const at::Tensor&)) {
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork network(forward);
  probe.Find(network, Precision::kFp32);
  probe.RunMore(network, Precision::kFp32);
  NotingNetwork other(forward);
  EXPECT_TRUE(probe.Compare(other, Precision::kFp32, at::kCPU, true).ok());
  return other.sums();
}

TEST(NetworkProbeTest, NoRowsAreComparedTwice) {
  const std::vector<double> sums =
      ComparedSums(Options(Batching::kOwnRowsOnly, {kAnySize}), Doubled);
  ASSERT_FALSE(sums.empty());
  const std::set<double> distinct(sums.begin(), sums.end());
  EXPECT_EQ(distinct.size(), sums.size());
}

// The largest sum of a batch of four integers a row.
double LargestSum(at::Tensor (*forward)(const at::Tensor&)) {
  ModelOptions options = Options(Batching::kOwnRowsOnly, {4});
  options.spec.max_batch_size = 1;
  options.spec.inputs[0].type = DataType::kInt64;
  const std::vector<double> sums = ComparedSums(options, forward);
  return *std::max_element(sums.begin(), sums.end());
}

// Positions and ids: bf16 counts to 256.
TEST(NetworkProbeTest, IntegersOfSeveralAreAlsoLargeWhereTheyAreTaken) {
  EXPECT_GT(
      LargestSum([](const at::Tensor& x) { return x.to(at::kFloat) * 2; }),
      4 * 256);
  EXPECT_LT(LargestSum(BelowHundred), 4 * 100);
}

// Attention over pixels in time: an operation on all for each.
at::Tensor Attended(const at::Tensor& x) {
  const at::Tensor pixels = x.flatten(1);
  at::Tensor sum = at::zeros_like(pixels);
  for (int64_t pixel = 0; pixel < pixels.size(1); ++pixel) {
    sum.add_(pixels);
  }
  return sum.view(x.sizes());
}

// And in memory: a number for each two.
at::Tensor Pairs(const at::Tensor& x) {
  const int64_t pixels = x.size(2) * x.size(3);
  return at::zeros({x.size(0), pixels, pixels});
}

TEST(NetworkProbeTest, LargeImagesOfWhatGrowsAsTheirSquareAreLeftOut) {
  for (at::Tensor (*const forward)(const at::Tensor&) : {Attended, Pairs}) {
    const ModelOptions options =
        Options(Batching::kOwnRowsOnly, {3, kAnySize, kAnySize});
    NetworkProbe probe(options, at::kCPU);
    NotingNetwork network(forward);
    probe.Find(network, Precision::kFp32);
    probe.RunMore(network, Precision::kFp32);
    EXPECT_THAT(network.sizes(), Not(Contains(384)));
    EXPECT_TRUE(probe.leaves_out_sizes());
  }
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
  EXPECT_TRUE(probe.leaves_out_sizes());
}

TEST(NetworkProbeTest, IntegersOnADeviceDoNotTellRowsApart) {
  ModelOptions options = Options(Batching::kAcrossRequests, {4});
  options.spec.inputs[0].type = DataType::kInt64;
  NetworkProbe probe(options, at::kMeta);
  NotingNetwork network(
      [](const at::Tensor& x) { return at::ones(x.sizes()); });
  probe.Find(network, Precision::kFp32);
  LoadReport report;
  CheckRows(probe, network, Precision::kFp32, options, report);
  EXPECT_THAT(report.why_rows_unknown, HasSubstr("integers are zeros"));
}

// Batches are computed in halves there, too.
TEST(NetworkProbeTest, BatchThatADeviceHasNoMemoryForIsComparedInHalves) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {4});
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork doubled(Doubled);
  probe.Find(doubled, Precision::kFp32);
  probe.RunMore(doubled, Precision::kFp32);
  NotingNetwork on_device(DoubledInLittleMemory);
  const auto error = probe.Compare(on_device, Precision::kFp32, at::kCPU,
                                   /*independent=*/true);
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_EQ(error->share, 0);
  NotingNetwork other(
      [](const at::Tensor& x) { return DoubledInLittleMemory(x) + 1; });
  EXPECT_GT(probe.Compare(other, Precision::kFp32, at::kCPU, true)->share, 0.1);
  EXPECT_EQ(probe
                .Compare(on_device, Precision::kFp32, at::kCPU,
                         /*independent=*/false)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

// fp32 would take more.
TEST(NetworkProbeTest, WithoutMemoryForARowNothingServes) {
  const ModelOptions options = Options(Batching::kOwnRowsOnly, {4});
  NetworkProbe probe(options, at::kCPU);
  NotingNetwork doubled(Doubled);
  probe.Find(doubled, Precision::kFp32);
  NotingNetwork on_device(WithoutMemory);
  LoadReport report;
  report.why_not_bf16 = "off by far";  // by an attempt before
  report.has_independent_rows = true;
  const absl::Status status =
      CheckPrecision(probe, on_device, at::kCPU, options, report);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no memory to compare bf16 with fp32: no memory"));
  EXPECT_THAT(report.why_not_bf16, IsEmpty());
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
