// Tests what a sweep takes for the saturation, with loads that are invented.
#include "bench/search/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers all that is sent, at once; of closed loops what the test says.
class SyntheticLoads final : public LoadSource {
 public:
  struct Closed {
    uint64_t ok = 0;          // in a window of 1 s
    uint64_t backed_off = 0;  // UNAVAILABLE, and a pause: it is unsteady
    bool is_late = false;     // the client was: it is void
  };

  explicit SyntheticLoads(std::map<int32_t, Closed> closed)
      : closed_(std::move(closed)) {}

  Loaded RunClosed(int32_t outstanding, const LoadPlan&) override {
    const Closed& one = closed_.at(outstanding);
    auto load = Answered(one.ok);
    load->backed_off = one.backed_off;
    if (one.is_late) {
      RecordLatency(load->send_lag, Milliseconds(100));
    }
    return load;
  }

  Loaded RunOpen(double rate, uint64_t, const LoadPlan&) override {
    auto load = Answered(static_cast<uint64_t>(rate));
    load->is_open = true;
    return load;
  }

  Loaded RunOffline(uint64_t, int32_t, const LoadPlan&) override {
    return absl::UnimplementedError("no query here");
  }

  void Stop() override {}
  std::optional<LoadProgress> progress() const override { return {}; }

 private:
  static std::unique_ptr<LoadResult> Answered(uint64_t ok) {
    auto load = std::make_unique<LoadResult>();
    load->window = Milliseconds(1000);
    load->planned = load->ok_in_window = load->ended[0] = ok;
    for (uint64_t i = 0; i < ok; ++i) {
      RecordLatency(load->latency, Milliseconds(10));
    }
    return load;
  }

  const std::map<int32_t, Closed> closed_;
};

class SweepTest : public ::testing::Test {
 protected:
  absl::Status Run(std::map<int32_t, SyntheticLoads::Closed> closed) {
    Sweep sweep(options_, std::make_unique<SyntheticLoads>(std::move(closed)),
                /*probe=*/nullptr, /*instances=*/1);
    return sweep.Run(run_, [](const PointResult&) {});
  }

  std::vector<double> OpenRates() const {
    std::vector<double> rates;
    for (const PointResult& point : run_.points) {
      if (point.loop == "open") {
        rates.push_back(point.target_rate);
      }
    }
    return rates;
  }

  SweepOptions options_;
  RunResult run_;
};

TEST_F(SweepTest, LoadsAreSharesOfTheFastestClosedLoop) {
  options_.outstanding = {1};
  options_.loads = {0.5};
  ASSERT_TRUE(Run({{1, {.ok = 100}}, {256, {.ok = 1000}}}).ok());
  EXPECT_EQ(run_.saturation_rate, 1000);
  EXPECT_THAT(OpenRates(), ElementsAre(500));
  EXPECT_EQ(run_.points.back().load, 0.5);
}

TEST_F(SweepTest, ClosedLoopThatPausedIsNoSaturation) {
  options_.outstanding = {16};
  options_.loads = {0.5};
  ASSERT_TRUE(
      Run({{16, {.ok = 600}}, {256, {.ok = 1000, .backed_off = 1}}}).ok());
  EXPECT_EQ(run_.saturation_rate, 600);
  EXPECT_THAT(OpenRates(), ElementsAre(300));
}

TEST_F(SweepTest, WithoutASteadyLoopSharesAreOfTheFastestAndMarked) {
  options_.outstanding = {16};
  options_.loads = {0.5};
  ASSERT_TRUE(Run({{16, {.ok = 600, .backed_off = 2}},
                   {256, {.ok = 1000, .backed_off = 7}}})
                  .ok());
  EXPECT_EQ(run_.saturation_rate, 1000);
  EXPECT_THAT(OpenRates(), ElementsAre(500));
  EXPECT_EQ(run_.points.back().load, 0.5);
  EXPECT_EQ(DoubtOfSaturation(run_),
            "closed, 256 outstanding: unsteady: the server was UNAVAILABLE: "
            "the client paused after 7 of 1000 requests, so fewer were "
            "outstanding");
}

TEST_F(SweepTest, LoopsOfALateClientAreBetterThanNone) {
  options_.outstanding = {16};
  options_.loads = {0.5};
  ASSERT_TRUE(Run({{16, {.ok = 600, .is_late = true}}, {256, {.ok = 0}}}).ok());
  EXPECT_EQ(run_.saturation_rate, 600);
  EXPECT_THAT(OpenRates(), ElementsAre(300));
  EXPECT_THAT(DoubtOfSaturation(run_),
              HasSubstr("closed, 16 outstanding: void: the client was late"));
}

TEST_F(SweepTest, WithoutASuccessSharesAreRefusedAndRatesMeasured) {
  options_.outstanding = {16};
  options_.rates = {50};
  options_.loads = {0.5};
  const absl::Status status = Run({{16, {.ok = 0}}, {256, {.ok = 0}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("--loads: expected a closed loop with successes"),
                    HasSubstr("found closed, 16 outstanding: 0; closed, 256 "
                              "outstanding: 0"),
                    HasSubstr("--rates take none")));
  EXPECT_EQ(run_.saturation_rate, 0);
  EXPECT_THAT(OpenRates(), ElementsAre(50));
}

TEST_F(SweepTest, RatesNeedNoSaturation) {
  options_.outstanding = {16};
  options_.rates = {50};
  EXPECT_TRUE(Run({{16, {.ok = 0}}}).ok());
  EXPECT_EQ(run_.saturation_rate, 0);
  EXPECT_FALSE(run_.points.back().load.has_value());
}

TEST_F(SweepTest, RatesOfALaterTurnHaveASaturationThatIsMarked) {
  options_.outstanding = {16};
  options_.rates = {50};  // shares of what the first turn found
  EXPECT_TRUE(Run({{16, {.ok = 1000, .backed_off = 7}}}).ok());
  EXPECT_EQ(run_.saturation_rate, 1000);
  EXPECT_EQ(run_.points.back().load, 0.05);
  EXPECT_THAT(DoubtOfSaturation(run_),
              HasSubstr("closed, 16 outstanding: unsteady"));
}

}  // namespace
}  // namespace ferry::bench
