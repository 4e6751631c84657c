// Tests how far RunOnDevice starts ahead, and where it ends.
#include "models/forward/forward_on_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/row_requests.h"

namespace ferry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;

// Notes the places of its steps; fails to compute the batch `fails`.
class NotingModel final : public DeviceModel {
 public:
  const ModelSpec& spec() const override { return spec_; }
  int32_t places() const override { return 3; }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  DeviceOutcome CopyIn(int32_t place, const Batch&) override {
    copied_in.push_back(place);
    most_under_way = std::max(most_under_way, copied_in.size() - ended.size());
    return {};
  }
  DeviceOutcome Compute(int32_t, const Batch&, OutputRef&) override {
    return {};
  }
  DeviceOutcome AwaitComputed(int32_t, DeviceTimes& times) override {
    times = {.copy_in = Milliseconds(1), .compute = Milliseconds(2)};
    if (ended.size() == fails) {
      return {.outcome = {absl::StatusCode::kInternal, "no"}};
    }
    return {};
  }
  DeviceOutcome AwaitCopiedOut(int32_t place) override {
    ended.push_back(place);
    return {};
  }

  std::optional<Duration> IdleBetween(int32_t before, int32_t place) override {
    idle_between.emplace_back(before, place);
    return tells_idle ? std::optional(Milliseconds(3)) : std::nullopt;
  }

  size_t fails = SIZE_MAX;
  bool tells_idle = true;
  std::vector<std::pair<int32_t, int32_t>> idle_between;
  std::vector<int32_t> copied_in, ended;
  size_t most_under_way = 0;

 private:
  const ModelSpec spec_ = {.inputs = {{"x", DataType::kFp32, {1}}},
                           .outputs = {{"y", DataType::kFp32, {1}}},
                           .max_batch_size = 4};
};

class RunOnDeviceTest : public ::testing::Test {
 protected:
  absl::StatusOr<DeviceForwards> Run(int min_runs) {
    return RunOnDevice(model_, requests_.batch(),
                       {.min_runs = min_runs, .ahead = ahead_});
  }

  NotingModel model_;
  int32_t ahead_ = 2;
  const std::vector<RowInput> row_ = {
      {.dims = {1}, .bytes = std::vector<std::byte>(sizeof(float))}};
  const RowRequests requests_{model_.spec(), row_, 2};
};

TEST_F(RunOnDeviceTest, StartsOneAheadInTurnAndLeavesNothingUnderWay) {
  const auto all = Run(3);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(model_.most_under_way, 2);
  EXPECT_EQ(model_.ended, model_.copied_in);
  EXPECT_THAT(
      std::vector<int32_t>(model_.ended.begin(), model_.ended.begin() + 4),
      ElementsAre(0, 1, 2, 0));
}

TEST_F(RunOnDeviceTest, CountsNoneOfThoseThatFillTheDevice) {
  const auto all = Run(3);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->interval.size(), 3);
  ASSERT_EQ(all->device.size(), 3);
  EXPECT_EQ(all->device[0].compute, Milliseconds(2));
}

TEST_F(RunOnDeviceTest, OneAheadIsOneAtATime) {
  ahead_ = 1;
  ASSERT_TRUE(Run(3).ok());
  EXPECT_EQ(model_.most_under_way, 1);
  EXPECT_EQ(model_.ended, model_.copied_in);
}

TEST_F(RunOnDeviceTest, AsksHowLongTheDeviceWasIdleBeforeEach) {
  const auto all = Run(3);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(model_.idle_between,
              ElementsAre(Pair(1, 2), Pair(2, 0), Pair(0, 1)));
  EXPECT_THAT(all->idle, Each(Milliseconds(3)));
  EXPECT_EQ(all->idle.size(), 3);
}

TEST_F(RunOnDeviceTest, ADeviceThatDoesNotSayItLeavesNone) {
  model_.tells_idle = false;
  const auto all = Run(3);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(all->idle.empty());
}

TEST_F(RunOnDeviceTest, AFailureEndsIt) {
  model_.fails = 2;
  EXPECT_EQ(Run(10).status(), absl::InternalError("no"));
}

}  // namespace
}  // namespace ferry
