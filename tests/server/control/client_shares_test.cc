// Tests ClientShares: bounds of a client, and its share of a model.
#include "server/control/client_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using Hold = ClientShares::Hold;
using std::chrono::milliseconds;

constexpr int64_t kBatch = 8;  // rows
constexpr int64_t kAtWork = 2 * kBatch;

class ClientSharesTest : public testing::Test {
 protected:
  void Bound(const ClientBounds& bounds) {
    shares_ = std::make_unique<ClientShares>(bounds, clock_);
  }

  // Takes one request; returns whether it was.
  bool Take(const std::string& client, int64_t rows = 1, uint64_t model = 1,
            int64_t bytes = 100) {
    Hold hold;
    last_ = shares_->Take({.client = client,
                           .model_name = "model",
                           .model = model,
                           .rows = rows,
                           .bytes = bytes,
                           .batch_rows = kBatch,
                           .instances_rows = kBatch},
                          hold);
    if (last_.ok()) {
      holds_.push_back(std::move(hold));
    }
    return last_.ok();
  }

  // Takes requests of a row until one is refused, at most so many.
  int TakeUpTo(const std::string& client, int most, uint64_t model = 1) {
    for (int taken = 0; taken < most; ++taken) {
      if (!Take(client, 1, model)) {
        return taken;
      }
    }
    return most;
  }

  // Clients ask for so many rows a millisecond, evenly, and the model answers
  // one a millisecond, the oldest first. Returns which part of its requests
  // was taken.
  std::map<std::string, double> Serve(
      const std::map<std::string, double>& rates, Duration time) {
    std::map<std::string, double> due;
    std::map<std::string, double> asked;
    std::map<std::string, double> taken;
    for (Duration passed{0}; passed < time; passed += milliseconds(1)) {
      clock_.Advance(milliseconds(1));
      if (!holds_.empty()) {
        holds_.front().MarkComputed(milliseconds(1));
        holds_.pop_front();
      }
      for (const auto& [client, rate] : rates) {
        for (due[client] += rate; due[client] >= 1; --due[client]) {
          ++asked[client];
          taken[client] += Take(client) ? 1 : 0;
        }
      }
    }
    for (auto& [client, count] : taken) {
      count /= asked[client];
    }
    return taken;
  }

  ClientShares::Counts CountsOf(const std::string& client) const {
    for (const ClientShares::Counts& counts : shares_->Count()) {
      if (counts.client == client) {
        return counts;
      }
    }
    return {};
  }

  FakeClock clock_;
  std::unique_ptr<ClientShares> shares_ =
      std::make_unique<ClientShares>(ClientBounds(), clock_);
  std::deque<Hold> holds_;
  absl::Status last_;
};

TEST_F(ClientSharesTest, ClientThatAsksAloneHasNoShare) {
  EXPECT_EQ(TakeUpTo("one", 1000), 1000);
}

TEST_F(ClientSharesTest, ClientThatAsksForLessThanItsRateIsNeverRefused) {
  Serve({{"flood", 5}, {"half", 0.5}}, milliseconds(5000));
  const auto taken = Serve({{"flood", 5}, {"half", 0.5}}, milliseconds(5000));
  EXPECT_EQ(taken.at("half"), 1);
  EXPECT_NEAR(taken.at("flood"), 0.5 / 5, 0.02);  // what is left
}

TEST_F(ClientSharesTest, WhatOneDoesNotAskForIsAnothers) {
  Serve({{"flood", 5}, {"tenth", 0.1}}, milliseconds(5000));
  const auto taken = Serve({{"flood", 5}, {"tenth", 0.1}}, milliseconds(5000));
  EXPECT_EQ(taken.at("tenth"), 1);
  EXPECT_NEAR(taken.at("flood"), 0.9 / 5, 0.02);
}

TEST_F(ClientSharesTest, FloodsShareEvenlyWhateverTheyAskFor) {
  const std::map<std::string, double> rates = {
      {"five", 5}, {"ten", 10}, {"quarter", 0.25}};
  Serve(rates, milliseconds(5000));
  const auto taken = Serve(rates, milliseconds(10'000));
  EXPECT_EQ(taken.at("quarter"), 1);
  EXPECT_NEAR(taken.at("five") * 5, 0.375, 0.05);
  EXPECT_NEAR(taken.at("ten") * 10, 0.375, 0.05);
}

TEST_F(ClientSharesTest, WhatTheQueueRefusesIsNotWhatTheModelCarries) {
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  for (int i = 0; i < 20'000; ++i) {  // taken here, then refused
    if (Take("third")) {
      holds_.pop_back();
    }
  }
  clock_.Advance(milliseconds(20));
  EXPECT_LT(TakeUpTo("flood", 100), kAtWork);
}

TEST_F(ClientSharesTest, FloodKeepsInstancesAtWorkAndQueuesLittleBeside) {
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  EXPECT_LE(holds_.size(), 3 * kAtWork / 2);
  EXPECT_GE(holds_.size(), kAtWork - 2);
}

TEST_F(ClientSharesTest, FloodAddsNothingToWhatOthersFill) {
  Serve({{"flood", 5}, {"half", 0.5}}, milliseconds(5000));
  holds_.clear();
  ASSERT_TRUE(Take("flood"));
  ASSERT_EQ(TakeUpTo("half", kAtWork - 2), kAtWork - 2);
  EXPECT_TRUE(Take("flood"));
  EXPECT_FALSE(Take("flood")) << "two batches are under way";
  EXPECT_TRUE(Take("half"));
}

TEST_F(ClientSharesTest, BacklogOfAFairRateIsBoundedToo) {
  // The rate of "much" is over its fair one, 0.9, by less than what is let
  // pass.
  const std::map<std::string, double> rates = {{"much", 1.08}, {"tenth", 0.1}};
  Serve(rates, milliseconds(20'000));
  EXPECT_LE(holds_.size(), 5 * kAtWork / 2);
  EXPECT_EQ(Serve(rates, milliseconds(5000)).at("tenth"), 1);
}

TEST_F(ClientSharesTest, BurstOfAClientIsBounded) {
  Serve({{"even", 0.1}, {"bursts", 0.1}}, milliseconds(5000));
  EXPECT_LE(TakeUpTo("bursts", 1000), 2 * kAtWork);
}

TEST_F(ClientSharesTest, BacklogOfAFloodGoesBeforeItGetsMore) {
  Serve({{"flood", 5}}, milliseconds(500));
  EXPECT_GT(holds_.size(), 1000);
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  EXPECT_LE(holds_.size(), 3 * kAtWork / 2);
}

TEST_F(ClientSharesTest, ClientWithNothingUnderWayIsNeverRefused) {
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  EXPECT_TRUE(Take("late", 50 * kAtWork));
}

TEST_F(ClientSharesTest, ClientThatHasGoneQuietSharesNoMore) {
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  EXPECT_FALSE(Take("flood") && Take("flood") && Take("flood"));
  holds_.clear();
  clock_.Advance(milliseconds(1100));
  EXPECT_EQ(TakeUpTo("flood", 100), 100);
}

TEST_F(ClientSharesTest, SharesAreOfEachModel) {
  Serve({{"flood", 5}, {"third", 0.3}}, milliseconds(5000));
  EXPECT_LT(TakeUpTo("flood", 100), 5);
  EXPECT_EQ(TakeUpTo("flood", 100, 2), 100);
}

TEST_F(ClientSharesTest, VersionsThatComeAndGoAreForgotten) {
  for (uint64_t model = 1; model <= 100; ++model) {
    EXPECT_TRUE(Take("one", 1, model));
    EXPECT_TRUE(Take("two", 1, model));
    while (holds_.size() > 2) {  // those before end
      holds_.pop_front();
    }
    clock_.Advance(milliseconds(2000));
  }
  EXPECT_EQ(CountsOf("one").requests, 1);
  EXPECT_EQ(TakeUpTo("one", 100, 7), 100);
}

TEST_F(ClientSharesTest, RequestsOfAClientAreBoundedOverAllModels) {
  Bound({.requests = 3, .bytes = 0});
  EXPECT_TRUE(Take("one", 1, 1));
  EXPECT_EQ(TakeUpTo("one", 100, 2), 2);
  EXPECT_THAT(std::string(last_.message()),
              testing::HasSubstr("--client-max-requests"));
  EXPECT_TRUE(Take("two"));
  holds_.clear();
  EXPECT_TRUE(Take("one"));
  EXPECT_THAT(CountsOf("one").refused, testing::ElementsAre(1, 0, 0));
}

TEST_F(ClientSharesTest, BytesOfAClientAreBoundedButOneRequestIsServed) {
  Bound({.requests = 0, .bytes = 1000});
  EXPECT_TRUE(Take("one", 1, 1, 5000));
  EXPECT_FALSE(Take("one", 1, 2, 1));
  EXPECT_THAT(std::string(last_.message()),
              testing::HasSubstr("--client-max-bytes"));
  holds_.clear();
  EXPECT_TRUE(Take("one", 1, 1, 500));
  EXPECT_TRUE(Take("one", 1, 1, 500));
  EXPECT_FALSE(Take("one", 1, 1, 1));
  EXPECT_THAT(CountsOf("one").refused, testing::ElementsAre(0, 2, 0));
}

TEST_F(ClientSharesTest, WhatIsUnderWayIsCountedAndGivenBackOnce) {
  EXPECT_TRUE(Take("b", 3, 1, 10));
  EXPECT_TRUE(Take("a", 0, 1, 20));  // no rows count as one
  Hold moved = std::move(holds_.front());
  EXPECT_EQ(CountsOf("b").requests, 1);
  EXPECT_EQ(CountsOf("b").bytes, 10);
  EXPECT_EQ(CountsOf("a").bytes, 20);
  EXPECT_EQ(shares_->Count().front().client, "a");
  moved.Reset();
  moved.Reset();
  EXPECT_EQ(CountsOf("b").requests, 0);
  holds_.clear();
  EXPECT_EQ(CountsOf("a").requests, 0);
  EXPECT_EQ(CountsOf("a").bytes, 0);
}

TEST_F(ClientSharesTest, WhatWasComputedIsCountedByModelAndStays) {
  EXPECT_TRUE(Take("a", 1, 1));
  EXPECT_TRUE(Take("a", 1, 1));
  EXPECT_TRUE(Take("b", 1, 1));
  holds_[0].MarkComputed(milliseconds(20));
  holds_[1].MarkComputed(milliseconds(3));  // the third fails
  holds_.clear();
  EXPECT_THAT(CountsOf("a").computed,
              testing::ElementsAre(testing::Pair("model", milliseconds(23))));
  EXPECT_THAT(CountsOf("b").computed,
              testing::ElementsAre(testing::Pair("model", milliseconds(0))));
  EXPECT_TRUE(Take("a", 1, 2));  // another version of that model
  holds_[0].MarkComputed(milliseconds(7));
  holds_.clear();
  EXPECT_THAT(CountsOf("a").computed,
              testing::ElementsAre(testing::Pair("model", milliseconds(30))));
}

TEST(ClientRefusalTest, NamesAreThoseOfTheMetric) {
  EXPECT_STREQ(NameOf(ClientRefusal::kRequests), "requests");
  EXPECT_STREQ(NameOf(ClientRefusal::kBytes), "bytes");
  EXPECT_STREQ(NameOf(ClientRefusal::kShare), "share");
}

}  // namespace
}  // namespace ferry
