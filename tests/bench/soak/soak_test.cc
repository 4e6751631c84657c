// Tests a soak's account, the fit of memory, and whose rows a reply carries.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "bench/soak/process_memory.h"
#include "bench/soak/reply_checker.h"
#include "bench/soak/soak_ledger.h"

namespace ferry::bench {
namespace {

TEST(SoakLedgerTest, BalancesWhenEachRequestHasOneAnswer) {
  SoakLedger ledger;
  const uint64_t first = ledger.Send();
  const uint64_t second = ledger.Send();
  EXPECT_FALSE(ledger.account().balances()) << "two have no answer";
  ledger.Answer(first, absl::StatusCode::kOk, ReplyCheck::kRight);
  ledger.Answer(second, absl::StatusCode::kCancelled, ReplyCheck::kNotChecked);
  const SoakAccount account = ledger.account();
  EXPECT_TRUE(account.balances());
  EXPECT_EQ(account.by_code.at("OK"), 1U);
  EXPECT_EQ(account.by_code.at("CANCELLED"), 1U);
}

TEST(SoakLedgerTest, SecondAnswerUnbalances) {
  SoakLedger ledger;
  const uint64_t number = ledger.Send();
  ledger.Answer(number, absl::StatusCode::kOk, ReplyCheck::kRight);
  ledger.Answer(number, absl::StatusCode::kOk, ReplyCheck::kRight);
  EXPECT_EQ(ledger.account().answered_twice, 1U);
  EXPECT_FALSE(ledger.account().balances());
}

TEST(SoakLedgerTest, WrongRepliesUnbalance) {
  for (const ReplyCheck wrong :
       {ReplyCheck::kWrongId, ReplyCheck::kWrongRows, ReplyCheck::kMalformed}) {
    SoakLedger ledger;
    ledger.Answer(ledger.Send(), absl::StatusCode::kOk, wrong);
    EXPECT_FALSE(ledger.account().balances());
  }
  SoakLedger ledger;
  ledger.Answer(3, absl::StatusCode::kOk, ReplyCheck::kRight);
  EXPECT_FALSE(ledger.account().balances()) << "3 was never sent";
}

TEST(ProcessMemoryTest, SlopeIsOfTheFittedPartOnly) {
  std::vector<MemorySample> samples;
  for (int second = 0; second <= 600; second += 5) {
    // Steep for two minutes, then 0.3 MB a minute.
    const double minutes = second / 60.0;
    samples.push_back({static_cast<double>(second),
                       second < 120 ? 50 * minutes : 100 + 0.3 * minutes});
  }
  EXPECT_NEAR(*SlopeMbPerMinute(samples, 120), 0.3, 1e-9);
  EXPECT_GT(*SlopeMbPerMinute(samples, 0), 1);
  EXPECT_EQ(SlopeMbPerMinute({}, 0), std::nullopt);
}

TEST(ProcessMemoryTest, WhatWasNotCheckedIsSaidWithWhatToDo) {
  EXPECT_EQ(DescribeMemory({{0, 10}, {60, 12}}, 2, 0),
            "rss 12.0 MB, slope 2.000 MB/min");
  EXPECT_EQ(DescribeMemory({}, std::nullopt, 2),
            "memory was not checked: --server-pid says whose to read");
  EXPECT_EQ(DescribeMemory({{0, 10}, {5, 12}}, std::nullopt, 2),
            "rss 12.0 MB; its slope was not checked: it takes two readings "
            "after 2 s, so a soak and a process that last longer");
}

TEST(ProcessMemoryTest, ReadsThisProcessAndNoOther) {
  EXPECT_GT(ReadRssMb(getpid()).value_or(0), 1);
  EXPECT_FALSE(ReadRssMb(1 << 30).has_value());
}

inference::ModelInferResponse Reply(float value, const std::string& id) {
  inference::ModelInferResponse reply;
  reply.set_id(id);
  auto* output = reply.add_outputs();
  output->set_datatype(std::string("FP32"));
  output->add_shape(1);
  output->add_shape(4);
  const float row[4] = {value, -value, value, 1};
  reply.add_raw_output_contents()->assign(reinterpret_cast<const char*>(row),
                                          sizeof(row));
  return reply;
}

TEST(ReplyCheckerTest, OwnRowsAreRightWithinRounding) {
  const ReplyChecker checker({Reply(1, ""), Reply(2, "")});
  EXPECT_EQ(checker.Check(0, "a", Reply(1.01F, "a")), ReplyCheck::kRight);
  EXPECT_EQ(checker.Check(1, "a", Reply(2.02F, "a")), ReplyCheck::kRight);
}

TEST(ReplyCheckerTest, AnothersRowsOrIdOrShapeAreFound) {
  const ReplyChecker checker({Reply(1, ""), Reply(2, "")});
  EXPECT_EQ(checker.Check(0, "a", Reply(2, "a")), ReplyCheck::kWrongRows);
  EXPECT_EQ(checker.Check(0, "a", Reply(NAN, "a")), ReplyCheck::kWrongRows);
  EXPECT_EQ(checker.Check(0, "a", Reply(1, "b")), ReplyCheck::kWrongId);
  auto longer = Reply(1, "a");
  longer.mutable_outputs(0)->set_shape(1, 5);
  EXPECT_EQ(checker.Check(0, "a", longer), ReplyCheck::kMalformed);
  auto cut = Reply(1, "a");
  cut.mutable_raw_output_contents(0)->pop_back();
  EXPECT_EQ(checker.Check(0, "a", cut), ReplyCheck::kMalformed);
}

}  // namespace
}  // namespace ferry::bench
