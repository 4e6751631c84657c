// Tests the policies as tables: state in, decision out.
#include "batcher/batch_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

const TimePoint kArrival = FromNanos(1'000'000);
const Duration kMaxWait = Milliseconds(5);

QueueState Queue(int32_t rows, Growth growth) {
  return {.rows = rows,
          .oldest_arrival = rows == 0 ? kNever : kArrival,
          .growth = growth,
          .max_batch_size = 8,
          .full_at_rows = 6,
          .max_wait = kMaxWait};
}

// Says in one line what was decided, so that a failure reads as a sentence.
std::string Decided(PolicyKind kind, const QueueState& queue,
                    const InstanceState& instance, TimePoint now,
                    const Forecast& forecast = {}) {
  const Decision decision = Decide(kind, queue, instance, forecast, now);
  if (const auto* dispatch = std::get_if<Dispatch>(&decision)) {
    return absl::StrCat("dispatch: ", CloseReasonName(dispatch->reason));
  }
  const Wait& wait = std::get<Wait>(decision);
  return absl::StrCat(
      "wait",
      wait.until == kNever
          ? ""
          : absl::StrCat(" until +", (wait.until - kArrival).count()),
      wait.wake_at_rows == Wait::kNoRows
          ? ""
          : absl::StrCat(" for ", wait.wake_at_rows, " rows"));
}

// Returns the decision for an idle instance.
std::string Decided(PolicyKind kind, const QueueState& queue, TimePoint now,
                    const Forecast& forecast = {}) {
  return Decided(kind, queue, InstanceState{}, now, forecast);
}

struct Case {
  QueueState queue;
  Duration since_arrival;
  const char* expected;
};

TEST(EagerPolicy, DispatchesWhateverIsThereToAnIdleInstance) {
  const Case kCases[] = {
      {Queue(0, Growth::kOpen), {}, "wait for 1 rows"},
      {Queue(1, Growth::kOpen), {}, "dispatch: instance_free"},
      {Queue(3, Growth::kOpen), kMaxWait * 2, "dispatch: instance_free"},
      {Queue(8, Growth::kFull), {}, "dispatch: full"},
      {Queue(3, Growth::kDrained), {}, "dispatch: drain"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Decided(PolicyKind::kEager, c.queue, kArrival + c.since_arrival),
              c.expected)
        << c.queue.rows << " rows";
  }
}

constexpr PolicyKind kPolicies[] = {PolicyKind::kEager, PolicyKind::kWindow,
                                    PolicyKind::kAdaptive};

TEST(EveryPolicy, InstanceThatComputesTakesOnlyAFullBatchBeforeItIsReady) {
  const TimePoint ready_at = kArrival + Milliseconds(9);
  const InstanceState instance = {.ready_at = ready_at,
                                  .takes_full_early = true};
  for (const PolicyKind kind : kPolicies) {
    EXPECT_EQ(Decided(kind, Queue(0, Growth::kOpen), instance, kArrival),
              "wait until +9000000 for 6 rows");
    EXPECT_EQ(
        Decided(kind, Queue(3, Growth::kOpen), instance, kArrival + kMaxWait),
        "wait until +9000000 for 6 rows");
    EXPECT_EQ(Decided(kind, Queue(3, Growth::kDrained), instance, kArrival),
              "wait until +9000000 for 6 rows");
    EXPECT_EQ(Decided(kind, Queue(8, Growth::kFull), instance, kArrival),
              "dispatch: full");
    EXPECT_EQ(Decided(kind, Queue(3, Growth::kDrained), instance, ready_at),
              "dispatch: drain");
  }
}

TEST(EveryPolicy, ClosesNoBatchBeforeAnInstanceThatMayTakeAMoreUrgentOne) {
  const TimePoint ready_at = kArrival + Milliseconds(9);
  const InstanceState instance = {.ready_at = ready_at};
  for (const PolicyKind kind : kPolicies) {
    for (const Growth growth :
         {Growth::kOpen, Growth::kFull, Growth::kDrained}) {
      EXPECT_EQ(Decided(kind, Queue(8, growth), instance, kArrival + kMaxWait),
                "wait until +9000000");
    }
    EXPECT_EQ(Decided(kind, Queue(8, Growth::kFull), instance, ready_at),
              "dispatch: full");
  }
}

TEST(WindowPolicy, WaitsForAFullBatchOrMaxWait) {
  constexpr Duration kOne{1};
  const Case kCases[] = {
      {Queue(0, Growth::kOpen), {}, "wait for 1 rows"},
      {Queue(3, Growth::kOpen), {}, "wait until +5000000 for 6 rows"},
      {Queue(3, Growth::kOpen), kMaxWait - kOne,
       "wait until +5000000 for 6 rows"},
      {Queue(3, Growth::kOpen), kMaxWait, "dispatch: max_wait"},
      {Queue(3, Growth::kOpen), kMaxWait + kOne, "dispatch: max_wait"},
      {Queue(8, Growth::kFull), {}, "dispatch: full"},
      {Queue(3, Growth::kDrained), {}, "dispatch: drain"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Decided(PolicyKind::kWindow, c.queue, kArrival + c.since_arrival),
              c.expected)
        << c.queue.rows << " rows, " << c.since_arrival.count() << " ns";
  }
}

TEST(WindowPolicy, NoMaxWaitDispatchesAtOnce) {
  QueueState queue = Queue(1, Growth::kOpen);
  queue.max_wait = Duration(0);
  EXPECT_EQ(Decided(PolicyKind::kWindow, queue, kArrival),
            "dispatch: max_wait");
}

TEST(WindowPolicy, EndlessMaxWaitWaitsForAFullBatch) {
  QueueState queue = Queue(1, Growth::kOpen);
  queue.max_wait = Duration::max();
  EXPECT_EQ(Decided(PolicyKind::kWindow, queue, kArrival), "wait for 6 rows");
}

// 1 ms and 0.1 ms a row; one row a millisecond has to be carried by two rows a
// batch: 2 / 1.2 ms >= 1 / 0.7 ms, and 1 / 1.1 ms is not.
Forecast OneRowAMillisecond() {
  return {.rows_per_ns = 1e-6, .service = {.alpha_ns = 1e6, .beta_ns = 1e5}};
}

TEST(TargetRows, IsTheSmallestBatchThatCarriesTheRate) {
  EXPECT_EQ(TargetRows(OneRowAMillisecond(), 64), 2);
  Forecast forecast = OneRowAMillisecond();
  for (double rate : {1e-7, 5e-7, 1e-6, 3e-6, 5e-6, 6e-6}) {
    forecast.rows_per_ns = rate;
    const int32_t target = TargetRows(forecast, 64);
    const auto carries = [&](int32_t rows) {
      return rows / (1e6 + 1e5 * rows) >= rate / kBusyTarget;
    };
    EXPECT_TRUE(target == 64 || carries(target)) << rate;
    EXPECT_TRUE(target == 1 || !carries(target - 1)) << rate;
  }
}

// With s(b) = 1 + 0.1 b ms the buckets take 1.8 and 7.4 ms.
TEST(TargetRows, IsWhatCarriesTheRateInTheTimeOfItsBucket) {
  const std::vector<int32_t> buckets = {8, 64};
  Forecast forecast{.service = {.alpha_ns = 1e6, .beta_ns = 1e5},
                    .buckets = buckets};
  forecast.rows_per_ns = 1e-6;  // 2.6 rows while a bucket of 8 runs
  EXPECT_EQ(TargetRows(forecast, 64), 3);
  forecast.rows_per_ns = 3.2e-6;  // 8.2, and 33.8 with 64
  EXPECT_EQ(TargetRows(forecast, 64), 34);
  EXPECT_EQ(TargetRows(forecast, 20), 20) << "no more than a batch holds";
  forecast.rows_per_ns = 9e-6;
  EXPECT_EQ(TargetRows(forecast, 64), 64) << "nothing carries it";
}

TEST(TargetRows, MoreInstancesNeedSmallerBatches) {
  Forecast forecast = OneRowAMillisecond();
  forecast.rows_per_ns = 4e-6;
  EXPECT_EQ(TargetRows(forecast, 64), 14);
  forecast.instances = 4;
  EXPECT_EQ(TargetRows(forecast, 64), 2);
}

TEST(TargetRows, IsOneAtNoLoadAndFullPastCapacity) {
  EXPECT_EQ(TargetRows({}, 64), 1);
  EXPECT_EQ(TargetRows({.rows_per_ns = 1, .service = {}}, 64), 1)
      << "nothing learned yet";
  Forecast forecast = OneRowAMillisecond();
  forecast.rows_per_ns = 7e-6;  // the rows alone take 0.7 of the time
  EXPECT_EQ(TargetRows(forecast, 64), 64);
  forecast.rows_per_ns = 1;
  EXPECT_EQ(TargetRows(forecast, 64), 64);
  forecast.rows_per_ns = 6.9e-6;
  EXPECT_EQ(TargetRows(forecast, 8), 8);
}

TEST(AdaptivePolicy, WaitsForTheTargetMaxWaitOrADeadline) {
  constexpr Duration kOne{1};
  Forecast forecast = OneRowAMillisecond();
  forecast.rows_per_ns = 3e-6;  // target 8: 3 * 1 / (0.7 - 0.3), rounded up
  ASSERT_EQ(TargetRows(forecast, 8), 8);
  ASSERT_EQ(TargetRows(OneRowAMillisecond(), 8), 2);
  const auto decide = [](const QueueState& queue, Duration since_arrival,
                         const Forecast& its_forecast) {
    return Decided(PolicyKind::kAdaptive, queue, kArrival + since_arrival,
                   its_forecast);
  };
  EXPECT_EQ(decide(Queue(0, Growth::kOpen), {}, forecast), "wait for 1 rows");
  EXPECT_EQ(decide(Queue(3, Growth::kOpen), {}, forecast),
            "wait until +5000000 for 6 rows")
      << "full before the target";
  EXPECT_EQ(decide(Queue(1, Growth::kOpen), {}, OneRowAMillisecond()),
            "wait until +5000000 for 2 rows");
  EXPECT_EQ(decide(Queue(2, Growth::kOpen), {}, OneRowAMillisecond()),
            "dispatch: target");
  EXPECT_EQ(decide(Queue(1, Growth::kOpen), {}, Forecast{}), "dispatch: target")
      << "without a forecast it leaves at once";
  EXPECT_EQ(decide(Queue(3, Growth::kOpen), kMaxWait, forecast),
            "dispatch: max_wait");
  EXPECT_EQ(decide(Queue(8, Growth::kFull), {}, forecast), "dispatch: full");
  EXPECT_EQ(decide(Queue(3, Growth::kDrained), {}, forecast),
            "dispatch: drain");
  QueueState critical = Queue(3, Growth::kOpen);
  critical.latest_start = kArrival + Milliseconds(1);
  EXPECT_EQ(decide(critical, {}, forecast), "wait until +1000000 for 6 rows");
  EXPECT_EQ(decide(critical, Milliseconds(1) - kOne, forecast),
            "wait until +1000000 for 6 rows");
  EXPECT_EQ(decide(critical, Milliseconds(1), forecast), "dispatch: deadline");
}

TEST(BatchPolicy, NamesAreParsedBack) {
  for (PolicyKind kind :
       {PolicyKind::kEager, PolicyKind::kWindow, PolicyKind::kAdaptive}) {
    EXPECT_EQ(ParsePolicy(PolicyName(kind)), kind);
  }
  EXPECT_STREQ(PolicyName(PolicyKind::kEager), "eager");
  EXPECT_STREQ(PolicyName(PolicyKind::kWindow), "window");
  EXPECT_STREQ(PolicyName(PolicyKind::kAdaptive), "adaptive");
  for (const char* name : {"", "Eager", "adaptiv", "window "}) {
    EXPECT_EQ(ParsePolicy(name), std::nullopt) << '"' << name << '"';
  }
}

}  // namespace
}  // namespace ferry
