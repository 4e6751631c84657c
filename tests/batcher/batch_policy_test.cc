// The policies as tables: state in, decision out.
#include "batcher/batch_policy.h"

#include <gtest/gtest.h>

#include <string>

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
std::string Decide(PolicyKind kind, const QueueState& queue, int32_t free_slots,
                   TimePoint now) {
  const Decision decision =
      MakePolicy(kind)->Decide(queue, {.free_slots = free_slots}, now);
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
      {Queue(3, Growth::kShape), 1, {}, "dispatch: shape"},
      {Queue(3, Growth::kDrained), 1, {}, "dispatch: drain"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Decide(PolicyKind::kEager, c.queue, c.free_slots,
                     kArrival + c.since_arrival),
              c.expected)
        << c.queue.rows << " rows, " << c.free_slots << " free slots";
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
      {Queue(3, Growth::kShape), 1, {}, "dispatch: shape"},
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

TEST(BatchPolicy, NamesAreParsedBack) {
  for (PolicyKind kind : {PolicyKind::kEager, PolicyKind::kWindow}) {
    EXPECT_EQ(ParsePolicy(PolicyName(kind)), kind);
  }
  EXPECT_STREQ(PolicyName(PolicyKind::kEager), "eager");
  EXPECT_STREQ(PolicyName(PolicyKind::kWindow), "window");
  for (const char* name : {"", "Eager", "adaptive", "window "}) {
    EXPECT_EQ(ParsePolicy(name), std::nullopt) << '"' << name << '"';
  }
}

}  // namespace
}  // namespace ferry
