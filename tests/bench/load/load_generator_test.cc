// Tests the two loops and the query in simulated time: what is sent, when, and
// what is recorded.
#include "bench/load/load_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "bench/arrivals/burst_arrivals.h"
#include "bench/arrivals/renewal_arrivals.h"
#include "bench/load/batch_means.h"
#include "bench/load/stamp_log.h"
#include "tests/bench/simulated_time.h"

namespace ferry::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LoadGeneratorTest : public ::testing::Test {
 protected:
  LoadPlan Plan(Duration warm_up, Duration measured) {
    LoadPlan plan;
    plan.start = time_.Now();
    plan.warm_up = warm_up;
    plan.measured = measured;
    return plan;
  }

  static double Ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

  SimulatedTime time_;
  SimulatedTarget target_{time_};
  LoadGenerator generator_{target_, time_};
};

TEST_F(LoadGeneratorTest, ClosedLoopKeepsItsNumberOutstanding) {
  const auto result = generator_.RunClosed(7, Plan(seconds(0), seconds(10)));
  EXPECT_EQ(target_.most_outstanding, 7);
  EXPECT_EQ(target_.outstanding, 0);
  // Seven calls of 10 ms for 10 s.
  EXPECT_EQ(result->ok(), 7000U);
  EXPECT_NEAR(result->achieved_rate(), 700, 1);
  EXPECT_NEAR(Ms(result->latency.Quantile(0.5)), 10, 0.05);
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, QueryIsTimedUntilItsLastAnswer) {
  // The last of ten calls, three at a time, takes a second.
  int sent = 0;
  target_.ends_at = [&sent](TimePoint now) {
    return now + (++sent == 10 ? milliseconds(1000) : milliseconds(10));
  };
  LoadPlan plan = Plan(seconds(1), seconds(1));  // which it does not take
  plan.keeps_stamps = true;
  const auto result = generator_.RunOffline(10, 3, plan);
  EXPECT_EQ(target_.sent, 10);
  EXPECT_EQ(target_.most_outstanding, 3);
  EXPECT_EQ(result->planned, 10U);
  EXPECT_EQ(result->ok(), 10U);
  EXPECT_EQ(result->window, milliseconds(1030));
  EXPECT_NEAR(result->achieved_rate(), 10 / 1.03, 1e-9);
  // From the query's begin; the send lag is meant and not counted.
  EXPECT_EQ(result->latency.max(), 1'030'000'000U);
  EXPECT_EQ(result->latency_from_send.max(), 1'000'000'000U);
  EXPECT_EQ(result->send_lag.count(), 0U);
  EXPECT_EQ(result->stamps.back().planned, Duration::zero());
  EXPECT_EQ(result->stamps.back().sent, milliseconds(30));
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, QueryOfFewerCallsThanMayBeOutstandingIsSentOnce) {
  target_.code = [](uint64_t number) {
    return number == 1 ? absl::StatusCode::kInternal : absl::StatusCode::kOk;
  };
  const auto result =
      generator_.RunOffline(2, 100, Plan(seconds(0), seconds(0)));
  EXPECT_EQ(target_.sent, 2);
  EXPECT_EQ(result->ok(), 1U);
  EXPECT_EQ(result->failed(), 1U);
  EXPECT_EQ(result->window, milliseconds(10));
  EXPECT_NEAR(result->achieved_rate(), 100, 1e-9);
}

TEST_F(LoadGeneratorTest, QueryWithoutAnswersIsGivenUpAndVoid) {
  target_.never_answer = true;
  LoadPlan plan = Plan(seconds(0), seconds(0));
  plan.drain_limit = seconds(60);
  const TimePoint begin = time_.Now();
  const auto result = generator_.RunOffline(10, 3, plan);
  EXPECT_NEAR(std::chrono::duration<double>(time_.Now() - begin).count(), 60,
              0.1);
  EXPECT_EQ(target_.sent, 3);
  EXPECT_EQ(result->unanswered, 3U);
  EXPECT_EQ(result->achieved_rate(), 0);
  EXPECT_THAT(VoidReason(*result), ::testing::HasSubstr("was given up"));
}

TEST_F(LoadGeneratorTest, StoppedQueryKeepsWhatWasAnswered) {
  time_.At(time_.Now() + seconds(2), [this] { generator_.Stop(); });
  const auto result =
      generator_.RunOffline(100'000, 2, Plan(seconds(0), seconds(0)));
  EXPECT_TRUE(result->interrupted);
  EXPECT_NEAR(std::chrono::duration<double>(result->window).count(), 2, 0.1);
  EXPECT_NEAR(result->achieved_rate(), 200, 10);
  EXPECT_EQ(target_.outstanding, 0);
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, WarmUpIsExcluded) {
  // Slow for the first second, as a cold server is.
  const TimePoint warm = time_.Now() + seconds(1);
  target_.ends_at = [warm](TimePoint now) {
    return now + (now < warm ? milliseconds(100) : milliseconds(1));
  };
  const auto result = generator_.RunClosed(1, Plan(seconds(1), seconds(1)));
  EXPECT_EQ(result->ok(), 1000U);
  EXPECT_LE(Ms(result->latency.max()), 1.01);
}

TEST_F(LoadGeneratorTest, StartThatIsPastIsKeptWhereOthersKeepIt) {
  LoadPlan plan = Plan(seconds(0), seconds(10));
  plan.start -= seconds(1);
  plan.keeps_start = true;
  ConstantArrivals arrivals(100);
  const auto result = generator_.RunOpen(arrivals, plan);
  EXPECT_EQ(result->planned, 999U);
  // The first was planned for a gap of 10 ms after the start.
  EXPECT_NEAR(Ms(result->send_lag.max()), 990, 1);
  EXPECT_THAT(VoidReason(*result), ::testing::HasSubstr("late"));
}

TEST_F(LoadGeneratorTest, OpenLoopSendsWhatItPlanned) {
  ConstantArrivals arrivals(1000);
  const auto result =
      generator_.RunOpen(arrivals, Plan(seconds(1), seconds(10)));
  EXPECT_EQ(result->planned, 10000U);
  EXPECT_EQ(result->ok(), 10000U);
  EXPECT_DOUBLE_EQ(result->offered_rate(), 1000);
  EXPECT_EQ(result->send_lag.max(), 0U);
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, SlicesAreOfWhenRequestsWerePlanned) {
  // Slow in the second of four slices; its last ones end in the third.
  const TimePoint begin = time_.Now() + seconds(3);
  target_.ends_at = [begin](TimePoint now) {
    const bool is_slow = now >= begin && now < begin + seconds(1);
    return now + (is_slow ? milliseconds(700) : milliseconds(1));
  };
  target_.code = [](uint64_t number) {
    return number == 2500 ? absl::StatusCode::kInternal : absl::StatusCode::kOk;
  };
  ConstantArrivals arrivals(1000);
  LoadPlan plan = Plan(seconds(2), seconds(4));
  plan.slices = 4;
  const auto result = generator_.RunOpen(arrivals, plan);
  EXPECT_EQ(result->slice, seconds(1));
  ASSERT_EQ(result->slices.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result->slices[i].planned, 1000U);
    EXPECT_NEAR(Ms(result->slices[i].latency.Quantile(0.5)), i == 1 ? 700 : 1,
                3);
    EXPECT_EQ(result->slices[i].failed, i == 0 ? 1U : 0U);
    EXPECT_EQ(result->slices[i].send_lag.count(), 1000U);
  }
}

TEST_F(LoadGeneratorTest, StampsAreOfEachMeasuredCall) {
  target_.code = [](uint64_t number) {
    return number % 10 == 0 ? absl::StatusCode::kInternal
                            : absl::StatusCode::kOk;
  };
  ConstantArrivals arrivals(1000);
  LoadPlan plan = Plan(milliseconds(100), milliseconds(50));
  plan.keeps_stamps = true;
  const auto result = generator_.RunOpen(arrivals, plan);
  ASSERT_EQ(result->stamps.size(), 50U);
  for (size_t i = 0; i < 50; ++i) {
    const Stamp& stamp = result->stamps[i];
    EXPECT_EQ(stamp.planned, milliseconds(i));
    EXPECT_EQ(stamp.sent, stamp.planned);
    EXPECT_EQ(stamp.ended, stamp.planned + milliseconds(10));
  }
  const std::string path = testing::TempDir() + "stamps.csv";
  const auto log = StampLog::Create(path);
  ASSERT_TRUE(log.ok()) << log.status();
  (*log)->Add(*result);
  ASSERT_TRUE((*log)->Close().ok());
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "point,class,planned_ns,sent_ns,ended_ns,code");
  std::getline(file, line);
  EXPECT_THAT(line, ::testing::StartsWith("0,0,0,0,10000000,"));
  EXPECT_EQ(StampLog::Create("/nonexistent/stamps.csv").status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(LoadGeneratorTest, OpenLoopEndsEarlyOnceItIsDecided) {
  ConstantArrivals arrivals(1000);
  LoadPlan plan = Plan(seconds(1), seconds(100));
  plan.is_decided = [](const LoadResult& load) { return load.ok() >= 500; };
  const auto result = generator_.RunOpen(arrivals, plan);
  EXPECT_TRUE(result->is_decided);
  EXPECT_EQ(target_.outstanding, 0);
  EXPECT_GE(result->ok(), 500U);
  EXPECT_LE(result->ok(), 550U) << "it is asked every 20 ms";
  EXPECT_EQ(result->planned, result->ok()) << "those under way count, too";
  EXPECT_NEAR(result->achieved_rate(), 1000, 30);
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, BurstsAreSentAtTheirPlannedTimes) {
  std::vector<TimePoint> sent;
  target_.ends_at = [&sent](TimePoint now) {
    sent.push_back(now);
    return now + milliseconds(1);
  };
  BurstArrivals same(1000, 8, 3);
  std::vector<TimePoint> planned;
  const TimePoint end = time_.Now() + seconds(10);
  for (TimePoint next = time_.Now() + same.NextGap(); next < end;
       next += same.NextGap()) {
    planned.push_back(next);
  }
  BurstArrivals arrivals(1000, 8, 3);
  const auto result =
      generator_.RunOpen(arrivals, Plan(seconds(0), seconds(10)));
  EXPECT_EQ(sent, planned);
  EXPECT_EQ(result->planned, planned.size());
  EXPECT_EQ(result->send_lag.max(), 0U);
  EXPECT_GT(target_.most_outstanding, 16) << "a burst leaves at once";
}

TEST_F(LoadGeneratorTest, OpenLoopShowsAStallToEveryRequestThatMetIt) {
  // The target stalls from 2 s to 4 s of a 10 s run at 100/s.
  const TimePoint begin = time_.Now() + seconds(2);
  const TimePoint end = begin + seconds(2);
  target_.ends_at = [begin, end](TimePoint now) {
    return now >= begin && now < end ? end : now + milliseconds(1);
  };
  ConstantArrivals arrivals(100);
  const auto result =
      generator_.RunOpen(arrivals, Plan(seconds(0), seconds(10)));
  // 200 of 1000 met it; half of these waited over a second.
  EXPECT_NEAR(Ms(result->latency.Quantile(0.9)), 1000, 20);
  EXPECT_NEAR(Ms(result->latency.max()), 2000, 10);
  EXPECT_EQ(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, LatencyCountsFromThePlannedSendWhenTheClientIsLate) {
  time_.oversleep = milliseconds(5);
  ConstantArrivals arrivals(50);
  const auto result =
      generator_.RunOpen(arrivals, Plan(seconds(0), seconds(1)));
  EXPECT_NEAR(Ms(result->send_lag.Quantile(0.5)), 5, 0.05);
  EXPECT_NEAR(Ms(result->latency.Quantile(0.5)), 15, 0.1);
  EXPECT_NEAR(Ms(result->latency_from_send.Quantile(0.5)), 10, 0.1);
  EXPECT_THAT(VoidReason(*result), ::testing::HasSubstr("client was late"));
}

TEST_F(LoadGeneratorTest, ErrorsAreCountedByCodeAndEndNothing) {
  target_.code = [](uint64_t number) {
    return number % 4 == 0   ? absl::StatusCode::kResourceExhausted
           : number % 4 == 1 ? absl::StatusCode::kDeadlineExceeded
                             : absl::StatusCode::kOk;
  };
  const auto result = generator_.RunClosed(4, Plan(seconds(0), seconds(1)));
  EXPECT_EQ(result->ended[size_t{8}], 100U);  // RESOURCE_EXHAUSTED
  EXPECT_EQ(result->ended[size_t{4}], 100U);  // DEADLINE_EXCEEDED
  EXPECT_EQ(result->ok(), 200U);
  EXPECT_EQ(result->failed(), 200U);
  EXPECT_EQ(result->latency.count(), 200U);
  EXPECT_EQ(result->failed_latency.count(), 200U);
  EXPECT_NEAR(result->achieved_rate(), 200, 4);
}

TEST_F(LoadGeneratorTest, ClosedLoopDoesNotFloodAServerThatIsNotThere) {
  target_.ends_at = [](TimePoint now) {
    return now + std::chrono::microseconds(100);
  };
  target_.code = [](uint64_t) { return absl::StatusCode::kUnavailable; };
  const auto result = generator_.RunClosed(16, Plan(seconds(0), seconds(10)));
  // Each 1, 3, 7, ..., 127 ms after the first, then every 100 ms.
  EXPECT_EQ(target_.sent, 16 * 106);
  EXPECT_EQ(result->planned, 16U * 106);
  EXPECT_EQ(result->failed(), 16U * 106);
  EXPECT_EQ(result->backed_off, 16U * 106);
  EXPECT_EQ(target_.outstanding, 0);
  EXPECT_EQ(result->latency.count(), 0U);
  EXPECT_THAT(Unsteadiness(*result),
              ::testing::HasSubstr("paused after 1696 of 1696 requests"));
}

TEST_F(LoadGeneratorTest, ClosedLoopIsWholeAgainWhenItsServerIs) {
  // It is gone from the 2nd to the 3rd second.
  const TimePoint gone = time_.Now() + seconds(2);
  const TimePoint back = gone + seconds(1);
  target_.ends_at = [gone, back](TimePoint now) {
    return now +
           (now >= gone && now < back ? milliseconds(0) : milliseconds(10));
  };
  target_.code = [this, gone, back](uint64_t) {
    const TimePoint now = time_.Now();
    return now >= gone && now < back ? absl::StatusCode::kUnavailable
                                     : absl::StatusCode::kOk;
  };
  const auto result = generator_.RunClosed(7, Plan(seconds(0), seconds(10)));
  EXPECT_NEAR(static_cast<double>(result->ok()), 9 * 700, 7 * 11);
  EXPECT_LT(result->failed(), 7U * 20);
  EXPECT_GT(result->failed(), 7U * 10);
  EXPECT_LE(Ms(result->latency.max()), 10.1);
  EXPECT_GE(Ms(result->latency.min()), 10);
  EXPECT_EQ(target_.most_outstanding, 7);
}

TEST_F(LoadGeneratorTest, ClosedLoopDoesNotPauseForOneThatFails) {
  target_.code = [](uint64_t number) {
    return number % 4 == 0 ? absl::StatusCode::kUnavailable
                           : absl::StatusCode::kOk;
  };
  const auto result = generator_.RunClosed(7, Plan(seconds(0), seconds(10)));
  EXPECT_EQ(target_.sent, 7000) << "10 ms are longer than the first pause";
  EXPECT_EQ(result->backed_off, 0U);
  EXPECT_EQ(Unsteadiness(*result), "");
}

TEST_F(LoadGeneratorTest, StoppedClosedLoopHasNothingThatRests) {
  target_.ends_at = [](TimePoint now) { return now; };
  target_.code = [](uint64_t) { return absl::StatusCode::kUnavailable; };
  time_.At(time_.Now() + milliseconds(500), [this] { generator_.Stop(); });
  const auto result = generator_.RunClosed(3, Plan(seconds(0), seconds(10)));
  EXPECT_TRUE(result->interrupted);
  EXPECT_NEAR(std::chrono::duration<double>(result->window).count(), 0.5, 0.1);
}

TEST_F(LoadGeneratorTest, CallsWithoutAnswerAreGivenUpAndCounted) {
  target_.never_answer = true;
  const auto result = generator_.RunClosed(3, Plan(seconds(0), seconds(1)));
  EXPECT_EQ(result->unanswered, 3U);
  EXPECT_EQ(result->failed(), 0U);
  EXPECT_EQ(target_.outstanding, 0);
}

TEST_F(LoadGeneratorTest, OpenLoopAtItsBoundHoldsBackAndIsVoid) {
  target_.ends_at = [](TimePoint now) { return now + seconds(1); };
  ConstantArrivals arrivals(100);
  LoadPlan plan = Plan(seconds(0), seconds(3));
  plan.max_outstanding = 20;
  const auto result = generator_.RunOpen(arrivals, plan);
  EXPECT_EQ(target_.most_outstanding, 20);
  EXPECT_GT(result->held_back, 0U);
  EXPECT_NE(VoidReason(*result), "");
}

TEST_F(LoadGeneratorTest, StopEndsTheRunWithWhatWasMeasured) {
  time_.At(time_.Now() + seconds(2), [this] { generator_.Stop(); });
  const auto result = generator_.RunClosed(2, Plan(seconds(1), seconds(10)));
  EXPECT_TRUE(result->interrupted);
  EXPECT_NEAR(std::chrono::duration<double>(result->window).count(), 1, 0.1);
  EXPECT_NEAR(result->achieved_rate(), 200, 10);
  EXPECT_EQ(target_.outstanding, 0);
}

}  // namespace
}  // namespace ferry::bench
