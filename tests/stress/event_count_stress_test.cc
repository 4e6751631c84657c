// Tests EventCount and PushList under load: two threads that wake each other,
// many producers and one consumer that sleeps. A lost wake-up hangs the test.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/event_count.h"
#include "base/push_list.h"

namespace ferry {
namespace {

// Waits on `events` until `has_news()`, as the batcher's thread does.
template <typename Look>
void WaitFor(EventCount& events, Look&& has_news) {
  for (;;) {
    const EventCount::Key key = events.PrepareWait();
    if (has_news()) {
      events.CancelWait();
      return;
    }
    events.Wait(key, kNever);
  }
}

TEST(EventCountStress, TwoThreadsWakeEachOther) {
  constexpr int kRounds = 5000;
  EventCount ping;
  EventCount pong;
  std::atomic<int> pings{0};
  std::atomic<int> pongs{0};
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      WaitFor(ping, [&] { return pings.load() >= round; });
      pongs.store(round);
      pong.Notify();
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    pings.store(round);
    ping.Notify();
    WaitFor(pong, [&] { return pongs.load() >= round; });
  }
  other.join();
}

struct Item {
  int producer = 0;
  int number = 0;
  Item* next = nullptr;
};

// Now and then gives the processor away between link and publish.
struct SometimesYield {
  void operator()() const {
    thread_local unsigned count = 0;
    if (++count % 16 == 0) {
      std::this_thread::yield();
    }
  }
};

TEST(PushListStress, SleepingConsumerGetsEveryItemInEachProducersOrder) {
  constexpr int kProducers = 4;
  constexpr int kItems = 5000;
  PushList<Item, &Item::next, SometimesYield> list;
  EventCount events;
  std::array<std::vector<Item>, kProducers> items;
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    auto& mine = items[static_cast<size_t>(p)];
    mine.resize(kItems);
    producers.emplace_back([&list, &events, &mine, p] {
      for (int i = 0; i < kItems; ++i) {
        Item& item = mine[static_cast<size_t>(i)];
        item = {p, i, nullptr};
        list.Push(item);
        events.Notify();
      }
    });
  }
  std::array<int, kProducers> expected{};
  for (int taken = 0; taken < kProducers * kItems;) {
    WaitFor(events, [&] { return !list.empty(); });
    for (Item* item = list.TakeAll(); item != nullptr; item = item->next) {
      int& next = expected[static_cast<size_t>(item->producer)];
      ASSERT_EQ(item->number, next) << "of producer " << item->producer;
      ++next;
      ++taken;
    }
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  EXPECT_TRUE(list.empty());
}

// A producer stops between link and publish until the test lets it go on.
std::atomic<bool> is_paused{false};
std::atomic<bool> may_go_on{false};
thread_local bool pauses_here = false;

struct PauseWhenAsked {
  void operator()() const {
    if (std::exchange(pauses_here, false)) {
      is_paused.store(true);
      is_paused.notify_one();
      may_go_on.wait(false);
    }
  }
};

TEST(PushListStress, PausedProducerHidesNobodyElsesItem) {
  PushList<Item, &Item::next, PauseWhenAsked> list;
  Item held{0, 0, nullptr};
  std::thread paused([&] {
    pauses_here = true;
    list.Push(held);
  });
  is_paused.wait(false);
  std::vector<Item> items(100);
  for (Item& item : items) {
    list.Push(item);
  }
  size_t taken = 0;
  for (Item* item = list.TakeAll(); item != nullptr; item = item->next) {
    EXPECT_NE(item, &held);
    ++taken;
  }
  EXPECT_EQ(taken, items.size());
  may_go_on.store(true);
  may_go_on.notify_one();
  paused.join();
  EXPECT_EQ(list.TakeAll(), &held);
}

}  // namespace
}  // namespace ferry
