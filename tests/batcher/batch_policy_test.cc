// The policies as tables: state in, decision out.
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
std::string Decide(PolicyKind kind, const QueueState& queue,
                   const LaneState& lanes, TimePoint now,
                   const Forecast& forecast = {}) {
  const Decision decision = GetPolicy(kind).Decide(queue, lanes, forecast, now);
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

std::string Decide(PolicyKind kind, const QueueState& queue, int32_t free_slots,
                   TimePoint now, const Forecast& forecast = {}) {
  return Decide(kind, queue, LaneState{.free_slots = free_slots}, now,
                forecast);
}

struct Case {
  QueueState queue;
  int32_t free_slots;
  Duration since_arrival;
  const char* expected;
};

TEST(EagerPolicy, DispatchesWhateverIsThereToAFreeSlot) {
  const Case kCases[] = {
      {Queue(0, Growth::kOpen), 1, {}, "wait for 1 rows"},
      {Queue(0, Growth::kOpen), 0, {}, "wait"},
      {Queue(3, Growth::kOpen), 0, {}, "wait"},
      {Queue(8, Growth::kFull), 0, {}, "wait"},
      {Queue(1, Growth::kOpen), 1, {}, "dispatch: lane_free"},
      {Queue(3, Growth::kOpen), 2, kMaxWait * 2, "dispatch: lane_free"},
      {Queue(8, Growth::kFull), 1, {}, "dispatch: full"},
      {Queue(3, Growth::kDrained), 1, {}, "dispatch: drain"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Decide(PolicyKind::kEager, c.queue, c.free_slots,
                     kArrival + c.since_arrival),
              c.expected)
        << c.queue.rows << " rows, " << c.free_slots << " free slots";
  }
}

// Beside a batch on the lane, from `close_at` on.
TEST(EveryPolicy, OnlyWhatCannotGrowLeavesWhereOnlyThatIsTaken) {
  const TimePoint close_at = kArrival + Milliseconds(1);
  const LaneState lanes = {
      .free_slots = 1, .close_at = close_at, .takes_only_full = true};
  for (const PolicyKind kind :
       {PolicyKind::kEager, PolicyKind::kWindow, PolicyKind::kAdaptive}) {
    EXPECT_EQ(Decide(kind, Queue(0, Growth::kOpen), lanes, close_at),
              "wait for 6 rows");
    EXPECT_EQ(
        Decide(kind, Queue(3, Growth::kOpen), lanes, kArrival + kMaxWait * 2),
        "wait for 6 rows");
    EXPECT_EQ(Decide(kind, Queue(8, Growth::kFull), lanes, kArrival),
              "wait until +1000000");
    EXPECT_EQ(Decide(kind, Queue(8, Growth::kFull), lanes, close_at),
              "dispatch: full");
    EXPECT_EQ(Decide(kind, Queue(3, Growth::kDrained), lanes, close_at),
              "dispatch: drain");
  }
}

TEST(WindowPolicy, WaitsForAFullBatchOrMaxWait) {
  constexpr Duration kOne{1};
  const Case kCases[] = {
      {Queue(0, Growth::kOpen), 1, {}, "wait for 1 rows"},
      {Queue(0, Growth::kOpen), 0, {}, "wait"},
      {Queue(3, Growth::kOpen), 0, kMaxWait * 2, "wait"},
      {Queue(3, Growth::kOpen), 1, {}, "wait until +5000000 for 6 rows"},
      {Queue(3, Growth::kOpen), 1, kMaxWait - kOne,
       "wait until +5000000 for 6 rows"},
      {Queue(3, Growth::kOpen), 1, kMaxWait, "dispatch: max_wait"},
      {Queue(3, Growth::kOpen), 1, kMaxWait + kOne, "dispatch: max_wait"},
      {Queue(8, Growth::kFull), 1, {}, "dispatch: full"},
      {Queue(3, Growth::kDrained), 1, {}, "dispatch: drain"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Decide(PolicyKind::kWindow, c.queue, c.free_slots,
                     kArrival + c.since_arrival),
              c.expected)
        << c.queue.rows << " rows, " << c.free_slots << " free slots, "
        << c.since_arrival.count() << " ns";
  }
}

TEST(WindowPolicy, NoMaxWaitDispatchesAtOnce) {
  QueueState queue = Queue(1, Growth::kOpen);
  queue.max_wait = Duration(0);
  EXPECT_EQ(Decide(PolicyKind::kWindow, queue, 1, kArrival),
            "dispatch: max_wait");
}

TEST(WindowPolicy, EndlessMaxWaitWaitsForAFullBatch) {
  QueueState queue = Queue(1, Growth::kOpen);
  queue.max_wait = Duration::max();
  EXPECT_EQ(Decide(PolicyKind::kWindow, queue, 1, kArrival), "wait for 6 rows");
}

TEST(EveryPolicy, ClosesNoBatchBeforeALaneNeedsIt) {
  const TimePoint close_at = kArrival + Milliseconds(9);
  for (PolicyKind kind :
       {PolicyKind::kEager, PolicyKind::kWindow, PolicyKind::kAdaptive}) {
    const auto decide = [&](int32_t rows, Growth growth, TimePoint now) {
      return GetPolicy(kind).Decide(Queue(rows, growth),
                                    {.free_slots = 1, .close_at = close_at}, {},
                                    now);
    };
    const Decision full = decide(8, Growth::kFull, close_at - Duration(1));
    ASSERT_TRUE(std::holds_alternative<Wait>(full)) << PolicyName(kind);
    EXPECT_EQ(std::get<Wait>(full).until, close_at);
    EXPECT_EQ(std::get<Wait>(full).wake_at_rows, Wait::kNoRows);
    EXPECT_TRUE(
        std::holds_alternative<Dispatch>(decide(8, Growth::kFull, close_at)));
    const Decision empty = decide(0, Growth::kOpen, kArrival);
    EXPECT_EQ(std::get<Wait>(empty).wake_at_rows, 1);
  }
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

// Of s(b) = 1 + 0.1 b ms: 1.8 and 7.4 ms.
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

TEST(TargetRows, MoreLanesNeedSmallerBatches) {
  Forecast forecast = OneRowAMillisecond();
  forecast.rows_per_ns = 4e-6;
  EXPECT_EQ(TargetRows(forecast, 64), 14);
  forecast.lanes = 4;
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
  const auto decide = [](const QueueState& queue, int32_t free_slots,
                         Duration since_arrival, const Forecast& its_forecast) {
    return Decide(PolicyKind::kAdaptive, queue, free_slots,
                  kArrival + since_arrival, its_forecast);
  };
  EXPECT_EQ(decide(Queue(0, Growth::kOpen), 1, {}, forecast),
            "wait for 1 rows");
  EXPECT_EQ(decide(Queue(3, Growth::kOpen), 0, kMaxWait * 2, forecast), "wait");
  EXPECT_EQ(decide(Queue(3, Growth::kOpen), 1, {}, forecast),
            "wait until +5000000 for 6 rows")
      << "full before the target";
  EXPECT_EQ(decide(Queue(1, Growth::kOpen), 1, {}, OneRowAMillisecond()),
            "wait until +5000000 for 2 rows");
  EXPECT_EQ(decide(Queue(2, Growth::kOpen), 1, {}, OneRowAMillisecond()),
            "dispatch: target");
  EXPECT_EQ(decide(Queue(1, Growth::kOpen), 1, {}, Forecast{}),
            "dispatch: target")
      << "without a forecast it leaves at once";
  EXPECT_EQ(decide(Queue(3, Growth::kOpen), 1, kMaxWait, forecast),
            "dispatch: max_wait");
  EXPECT_EQ(decide(Queue(8, Growth::kFull), 1, {}, forecast), "dispatch: full");
  EXPECT_EQ(decide(Queue(3, Growth::kDrained), 1, {}, forecast),
            "dispatch: drain");
  QueueState pressed = Queue(3, Growth::kOpen);
  pressed.latest_start = kArrival + Milliseconds(1);
  EXPECT_EQ(decide(pressed, 1, {}, forecast), "wait until +1000000 for 6 rows");
  EXPECT_EQ(decide(pressed, 1, Milliseconds(1) - kOne, forecast),
            "wait until +1000000 for 6 rows");
  EXPECT_EQ(decide(pressed, 1, Milliseconds(1), forecast),
            "dispatch: deadline");
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
