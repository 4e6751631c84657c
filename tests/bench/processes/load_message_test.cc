// Tests that what processes tell each other arrives as it was.
#include "bench/processes/load_message.h"

#include <gtest/gtest.h>

#include "bench/load/histogram_record.h"

namespace ferry::bench {
namespace {

LoadResult SomeLoad() {
  LoadResult load;
  uint64_t value = 3;
  for (LatencyHistogram* const histogram :
       {&load.latency, &load.latency_from_send, &load.failed_latency,
        &load.send_lag}) {
    histogram->Record(value *= 1001);
  }
  load.ended[0] = 11;
  load.ended[14] = 3;
  load.planned = uint64_t{1} << 60;
  load.not_sent = 4;
  load.held_back = 5;
  load.unanswered = 6;
  load.backed_off = 12;
  load.ok_in_window = 7;
  load.window = Duration(123'456'789'012);
  load.interrupted = true;
  load.is_open = true;
  load.stamps = {
      {Duration(-5), Duration(1), Duration(2), 1, absl::StatusCode::kCancelled},
      {Duration(3), Duration(4), Duration(5), 0, absl::StatusCode::kOk}};
  load.classes.resize(2);
  load.classes[1].latency.Record(99);
  load.classes[1].ended[4] = 8;
  load.classes[1].planned = 9;
  load.slices.resize(3);
  load.slices[2].latency.Record(77);
  load.slices[2].send_lag.Record(78);
  load.slices[2].planned = 10;
  load.slices[2].failed = 2;
  load.slice = Duration(42);
  return load;
}

void ExpectSame(const LatencyHistogram& one, const LatencyHistogram& other) {
  EXPECT_EQ(RecordOf(one), RecordOf(other));
}

TEST(LoadMessageTest, ResultArrivesAsItWas) {
  const LoadResult sent = SomeLoad();
  LoadReply reply;
  reply.load = std::make_unique<LoadResult>(sent);
  const auto decoded = DecodeReply(Encode(reply));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->error, "");
  const LoadResult& got = *decoded->load;
  ExpectSame(got.latency, sent.latency);
  ExpectSame(got.latency_from_send, sent.latency_from_send);
  ExpectSame(got.failed_latency, sent.failed_latency);
  ExpectSame(got.send_lag, sent.send_lag);
  EXPECT_EQ(got.ended, sent.ended);
  EXPECT_EQ(got.planned, sent.planned);
  EXPECT_EQ(got.not_sent, sent.not_sent);
  EXPECT_EQ(got.held_back, sent.held_back);
  EXPECT_EQ(got.unanswered, sent.unanswered);
  EXPECT_EQ(got.backed_off, sent.backed_off);
  EXPECT_EQ(got.ok_in_window, sent.ok_in_window);
  EXPECT_EQ(got.window, sent.window);
  EXPECT_TRUE(got.interrupted);
  EXPECT_TRUE(got.is_open);
  EXPECT_FALSE(got.is_decided);
  EXPECT_EQ(got.slice, sent.slice);
  ASSERT_EQ(got.stamps.size(), 2U);
  EXPECT_EQ(got.stamps[0].planned, Duration(-5));
  EXPECT_EQ(got.stamps[0].of_class, 1U);
  EXPECT_EQ(got.stamps[0].code, absl::StatusCode::kCancelled);
  EXPECT_EQ(got.stamps[1].ended, Duration(5));
  ASSERT_EQ(got.classes.size(), 2U);
  ExpectSame(got.classes[1].latency, sent.classes[1].latency);
  EXPECT_EQ(got.classes[1].ended, sent.classes[1].ended);
  EXPECT_EQ(got.classes[1].planned, 9U);
  ASSERT_EQ(got.slices.size(), 3U);
  ExpectSame(got.slices[2].latency, sent.slices[2].latency);
  ExpectSame(got.slices[2].send_lag, sent.slices[2].send_lag);
  EXPECT_EQ(got.slices[2].planned, 10U);
  EXPECT_EQ(got.slices[2].failed, 2U);
}

TEST(LoadMessageTest, ErrorsArriveWithoutALoad) {
  LoadReply reply;
  reply.error = "no server answers";
  const auto decoded = DecodeReply(Encode(reply));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->error, "no server answers");
  EXPECT_EQ(decoded->load, nullptr);
}

TEST(LoadMessageTest, OrderArrivesAsItWas) {
  LoadOrder order;
  order.what = LoadOrder::What::kOpen;
  order.outstanding = 3;
  order.rate = 1.0 / 3;
  order.seed = ~uint64_t{0};
  order.plan.start = FromNanos(1'234'567'890'123);
  order.plan.keeps_start = true;
  order.plan.warm_up = Duration(1);
  order.plan.measured = Duration(2);
  order.plan.drain_limit = Duration(3);
  order.plan.max_outstanding = 4;
  order.plan.slices = 5;
  order.plan.keeps_stamps = true;
  const auto got = DecodeOrder(Encode(order));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->what, LoadOrder::What::kOpen);
  EXPECT_EQ(got->outstanding, 3);
  EXPECT_EQ(got->rate, 1.0 / 3);
  EXPECT_EQ(got->seed, ~uint64_t{0});
  EXPECT_EQ(got->plan.start, order.plan.start);
  EXPECT_TRUE(got->plan.keeps_start);
  EXPECT_EQ(got->plan.warm_up, Duration(1));
  EXPECT_EQ(got->plan.measured, Duration(2));
  EXPECT_EQ(got->plan.drain_limit, Duration(3));
  EXPECT_EQ(got->plan.max_outstanding, 4);
  EXPECT_EQ(got->plan.slices, 5);
  EXPECT_TRUE(got->plan.keeps_stamps);
}

TEST(LoadMessageTest, OtherBytesAreRefused) {
  EXPECT_FALSE(DecodeOrder("no order").ok());
  EXPECT_FALSE(DecodeReply("").ok());
  EXPECT_FALSE(DecodeReply(Encode(LoadOrder())).ok());
}

}  // namespace
}  // namespace ferry::bench
