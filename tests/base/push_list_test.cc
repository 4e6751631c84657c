// Tests PushList's order, TakeAll(), and what a paused producer hides.
#include "base/push_list.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

namespace ferry {
namespace {

struct Item {
  int value = 0;
  Item* next = nullptr;
};

using List = PushList<Item, &Item::next>;

std::vector<int> Values(Item* oldest) {
  std::vector<int> values;
  for (Item* item = oldest; item != nullptr; item = item->next) {
    values.push_back(item->value);
  }
  return values;
}

TEST(PushList, EmptyListGivesNull) {
  List list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.TakeAll(), nullptr);
}

TEST(PushList, TakeAllGivesOldestFirstAndEmptiesTheList) {
  List list;
  Item items[3] = {{1}, {2}, {3}};
  for (Item& item : items) {
    list.Push(item);
    EXPECT_FALSE(list.empty());
  }
  EXPECT_EQ(Values(list.TakeAll()), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.TakeAll(), nullptr);
}

TEST(PushList, TakenItemsCanBePushedAgain) {
  List list;
  Item items[2] = {{1}, {2}};
  for (int round = 0; round < 3; ++round) {
    list.Push(items[1]);
    list.Push(items[0]);
    EXPECT_EQ(Values(list.TakeAll()), (std::vector<int>{2, 1}));
  }
}

// Runs what the test put here, once, between link and publish.
std::function<void()>* pause_hook = nullptr;

struct PauseOnce {
  void operator()() const {
    if (auto* const hook = std::exchange(pause_hook, nullptr)) {
      (*hook)();
    }
  }
};

using PausedList = PushList<Item, &Item::next, PauseOnce>;

TEST(PushList, PausedProducerHidesOnlyItsOwnItem) {
  PausedList list;
  Item before{1};
  Item paused{2};
  Item after{3};
  std::vector<int> seen_in_the_pause;
  std::function<void()> hook = [&] {
    list.Push(after);
    seen_in_the_pause = Values(list.TakeAll());
  };
  list.Push(before);
  pause_hook = &hook;
  list.Push(paused);
  EXPECT_EQ(seen_in_the_pause, (std::vector<int>{1, 3}))
      << "an item was hidden by a producer between link and publish";
  EXPECT_EQ(Values(list.TakeAll()), std::vector<int>{2});
}

TEST(PushList, ItemTakenAndPushedAgainInAPauseIsKept) {
  // The ABA case: the producer saw `a` as head, and sees it again after `a`
  // was taken and pushed once more.
  PausedList list;
  Item a{1};
  Item b{2};
  std::function<void()> hook = [&] {
    list.TakeAll();
    list.Push(a);
  };
  list.Push(a);
  pause_hook = &hook;
  list.Push(b);
  EXPECT_EQ(Values(list.TakeAll()), (std::vector<int>{1, 2}));
}

TEST(PushList, ItemsOfOneProducerKeepTheirOrder) {
  constexpr int kProducers = 3;
  constexpr int kItems = 2000;
  List list;
  std::vector<std::vector<Item>> items(kProducers);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    items[static_cast<size_t>(p)].resize(kItems);
    producers.emplace_back([&, p] {
      int next = 0;
      for (Item& item : items[static_cast<size_t>(p)]) {
        item.value = p * kItems + next++;
        list.Push(item);
      }
    });
  }
  std::vector<int> expected(kProducers, 0);
  for (int taken = 0; taken < kProducers * kItems;) {
    for (Item* item = list.TakeAll(); item != nullptr; item = item->next) {
      const auto producer = static_cast<size_t>(item->value / kItems);
      EXPECT_EQ(item->value % kItems, expected[producer]++);
      ++taken;
    }
    std::this_thread::yield();
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
}

}  // namespace
}  // namespace ferry
