// Tests that DeviceShare shares the device's time, on one thread, and excludes,
// on several.
#include "batcher/device_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <queue>
#include <thread>
#include <vector>

#include "base/event_count.h"

namespace ferry {
namespace {

class Client final : public ShareClient {
 public:
  explicit Client(ModelShare& its_share) : ShareClient(its_share) {}
  void TurnCame() override { ++times_called; }

  int times_called = 0;
};

// Models that always have a batch waiting, on a device of so many permits, for
// a stretch of simulated time. Returns the time that each used.
std::vector<double> Share(int32_t permits, const std::vector<double>& weights,
                          const std::vector<Duration>& batches,
                          int32_t instances_per_model = 1) {
  DeviceShare gate(permits);
  std::deque<ModelShare> shares;
  std::deque<Client> clients;
  struct End {
    TimePoint at;
    size_t client;
    bool operator<(const End& other) const { return at > other.at; }
  };
  std::priority_queue<End> ends;
  std::vector<double> used(weights.size());
  std::vector<size_t> model_of;
  TimePoint now;
  const auto begin_who_may = [&] {
    for (size_t i = 0; i < clients.size(); ++i) {
      if (clients[i].state == ShareClient::State::kLetIn) {
        continue;  // it computes
      }
      if (gate.TryEnter(clients[i], now).is_let_in) {
        ends.push({now + batches[model_of[i]], i});
      }
    }
  };
  for (size_t model = 0; model < weights.size(); ++model) {
    shares.push_back({.weight = weights[model]});
    for (int32_t instance = 0; instance < instances_per_model; ++instance) {
      clients.emplace_back(shares.back());
      model_of.push_back(model);
    }
  }
  begin_who_may();
  while (now < TimePoint() + std::chrono::seconds(10)) {
    const End end = ends.top();
    ends.pop();
    now = end.at;
    const Duration took = batches[model_of[end.client]];
    used[model_of[end.client]] += static_cast<double>(took.count()) / 1e9;
    // An instance that is let in by this begins now.
    std::vector<ShareClient::State> before;
    for (const Client& client : clients) {
      before.push_back(client.state);
    }
    gate.Leave(clients[end.client], took, now);
    for (size_t i = 0; i < clients.size(); ++i) {
      if (before[i] == ShareClient::State::kWaiting &&
          clients[i].state == ShareClient::State::kLetIn) {
        ends.push({now + batches[model_of[i]], i});
      }
    }
    begin_who_may();
  }
  return used;
}

TEST(DeviceShare, TimeNotBatchesIsShared) {
  const auto used = Share(1, {1, 1}, {Milliseconds(10), Milliseconds(1)});
  EXPECT_NEAR(used[0], 5, 0.05);
  EXPECT_NEAR(used[1], 5, 0.05);
}

TEST(DeviceShare, WeightsCount) {
  const auto used =
      Share(1, {3, 1, 1}, {Milliseconds(4), Milliseconds(4), Milliseconds(1)});
  EXPECT_NEAR(used[0], 6, 0.05);
  EXPECT_NEAR(used[1], 2, 0.05);
  EXPECT_NEAR(used[2], 2, 0.05);
}

TEST(DeviceShare, InstancesOfAModelShareItsWeight) {
  const auto used = Share(2, {1, 1}, {Milliseconds(3), Milliseconds(2)}, 4);
  EXPECT_NEAR(used[0], 10, 0.1);
  EXPECT_NEAR(used[1], 10, 0.1);
}

// One gate, one moment after the other.
class DeviceShareTest : public ::testing::Test {
 protected:
  bool TryEnter(Client& client) {
    return gate_.TryEnter(client, now_).is_let_in;
  }
  void Leave(Client& client, Duration taken) {
    now_ += taken;
    gate_.Leave(client, taken, now_);
  }

  DeviceShare gate_{1};
  ModelShare share_;
  ModelShare other_share_;
  Client client_{share_};
  Client second_{share_};
  Client other_{other_share_};
  TimePoint now_;
};

TEST_F(DeviceShareTest, ModelThatIsAloneHasTheDevice) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(TryEnter(client_));
    Leave(client_, Milliseconds(1));
  }
}

TEST_F(DeviceShareTest, IdleModelSavesLittleUp) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(TryEnter(client_));
    Leave(client_, Milliseconds(1));
  }
  int turns = 0;
  for (int i = 0; i < 60; ++i) {  // both always want to
    if (TryEnter(other_)) {
      ++turns;
      Leave(other_, Milliseconds(1));
    } else if (TryEnter(client_)) {
      Leave(client_, Milliseconds(1));
    }
    TryEnter(client_);
  }
  EXPECT_GE(turns, 30);
  EXPECT_LE(turns, 45) << "a credit of 20 ms, not of 100";
}

TEST_F(DeviceShareTest, HeavyUseBeforeAPauseIsNotPaidFor) {
  ASSERT_TRUE(TryEnter(client_));
  Leave(client_, Milliseconds(100'000));
  now_ += Milliseconds(1);  // no model is expected any more
  ASSERT_TRUE(TryEnter(other_));
  EXPECT_FALSE(TryEnter(client_));
  for (int i = 0; i < 100 && client_.state == ShareClient::State::kWaiting;
       ++i) {
    Leave(other_, Milliseconds(1));
    if (!TryEnter(other_)) {
      break;
    }
  }
  EXPECT_EQ(client_.state, ShareClient::State::kLetIn);
  Leave(client_, Milliseconds(1));
}

// A model of long batches whose instance needs a moment for the next one,
// longer than a place is kept, beside one of short batches that always wants
// to.
TEST_F(DeviceShareTest, ModelThatIsAwayForAMomentIsNotForgivenItsBatch) {
  Duration long_time{0};
  Duration short_time{0};
  TimePoint returns_at = now_;
  while (now_ < TimePoint() + std::chrono::seconds(10)) {
    if (now_ >= returns_at) {
      TryEnter(client_);
    }
    TryEnter(other_);
    if (client_.state == ShareClient::State::kLetIn) {
      Leave(client_, Milliseconds(100));
      long_time += Milliseconds(100);
      returns_at = now_ + DeviceShare::kKeep + DeviceShare::kKeep;
    } else if (other_.state == ShareClient::State::kLetIn) {
      Leave(other_, Milliseconds(1));
      short_time += Milliseconds(1);
    } else {
      now_ += DeviceShare::kKeep;  // a place was kept
    }
  }
  EXPECT_NEAR(std::chrono::duration<double>(long_time).count(), 5, 0.15);
  EXPECT_NEAR(std::chrono::duration<double>(short_time).count(), 5, 0.15);
}

TEST_F(DeviceShareTest, WhatWasUsedBeforeAllWereIdleCountsNoMore) {
  share_.weight = 0.01;
  ASSERT_TRUE(TryEnter(client_));
  EXPECT_FALSE(TryEnter(other_));
  Leave(client_, Milliseconds(500));
  ASSERT_TRUE(TryEnter(other_));
  Leave(other_, Milliseconds(1));
  now_ += Milliseconds(60'000);
  ASSERT_TRUE(TryEnter(other_));
  EXPECT_FALSE(TryEnter(client_));
  for (int i = 0; i < 30 && client_.state == ShareClient::State::kWaiting;
       ++i) {
    Leave(other_, Milliseconds(1));
    TryEnter(other_);
  }
  EXPECT_EQ(client_.state, ShareClient::State::kLetIn);
  Leave(client_, Milliseconds(1));
}

TEST_F(DeviceShareTest, PlaceIsKeptForTheModelThatUsedLessButNotForLong) {
  ASSERT_TRUE(TryEnter(client_));
  EXPECT_FALSE(TryEnter(other_));
  Leave(client_, Milliseconds(10));
  ASSERT_TRUE(TryEnter(other_));
  EXPECT_FALSE(TryEnter(client_));
  Leave(other_, Milliseconds(1));
  const DeviceShare::Turn turn = gate_.TryEnter(client_, now_);
  EXPECT_FALSE(turn.is_let_in) << "the other one may come back";
  EXPECT_EQ(turn.ask_again, now_ + DeviceShare::kKeep);
  now_ = turn.ask_again;
  EXPECT_TRUE(TryEnter(client_)) << "it did not";
  Leave(client_, Milliseconds(1));
}

class WaitingClient final : public ShareClient {
 public:
  explicit WaitingClient(ModelShare& its_share) : ShareClient(its_share) {}
  void TurnCame() override { turn.Notify(); }

  EventCount turn;
};

TEST_F(DeviceShareTest, ModelThatNoLongerWaitsIsPassedOver) {
  ModelShare third_share;
  Client third(third_share);
  ASSERT_TRUE(TryEnter(client_));
  EXPECT_FALSE(TryEnter(other_));
  EXPECT_FALSE(TryEnter(third));
  Leave(other_, Duration(0));
  EXPECT_EQ(other_.state, ShareClient::State::kOutside);
  Leave(client_, Milliseconds(1));
  now_ += DeviceShare::kKeep;  // for which places are kept
  EXPECT_TRUE(TryEnter(third)) << "the one permit is free, and not twice";
  EXPECT_FALSE(TryEnter(other_));
  Leave(third, Milliseconds(1));
  Leave(other_, Duration(0));
}

TEST(DeviceShare, NoMoreThanItsPermitsComputeAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kPermits = 2;
  DeviceShare gate(kPermits);
  ModelShare share;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      WaitingClient client(share);
      for (int turn = 0; turn < 2000; ++turn) {
        for (;;) {
          const EventCount::Key key = client.turn.PrepareWait();
          const DeviceShare::Turn its =
              gate.TryEnter(client, Clock::Steady().Now());
          if (its.is_let_in) {
            client.turn.CancelWait();
            break;
          }
          client.turn.Wait(key, its.ask_again);
        }
        const int now = ++inside;
        if (now > most) {
          most = now;
        }
        --inside;
        gate.Leave(client, Duration(100), Clock::Steady().Now());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(most, kPermits);
}

}  // namespace
}  // namespace ferry
