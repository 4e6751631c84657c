// WorkQueue: every batch is taken once, by threads that poll or sleep.
#include "batcher/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/batcher/scripted_model.h"

namespace ferry {
namespace {

// Of a thread that polls in its next wait, until something comes.
IdleWait Polling() {
  IdleWait idle(std::chrono::hours(1));
  idle.WorkEnded();
  idle.Next(TimePoint(), kNever);
  idle.NewsCame(TimePoint());
  idle.WorkEnded();
  return idle;
}

IdleWait Sleeping() { return IdleWait(Duration(0)); }

Work SomeWork() { return {.batch = std::make_unique<Batch>(1, 1)}; }

TEST(WorkQueue, GivesTheOldestFirst) {
  WorkQueue queue;
  IdleWait idle = Sleeping();
  Work works[] = {SomeWork(), SomeWork()};
  const Batch* const first = works[0].batch.get();
  const Batch* const second = works[1].batch.get();
  for (Work& work : works) {
    queue.Push(std::move(work));
  }
  EXPECT_EQ(queue.Pop(idle).batch.get(), first);
  EXPECT_EQ(queue.Pop(idle).batch.get(), second);
}

TEST(WorkQueue, WhatIsInItIsTakenBeforeItEnds) {
  WorkQueue queue;
  IdleWait idle = Polling();
  queue.Push(SomeWork());
  queue.Close();
  EXPECT_NE(queue.Pop(idle).batch, nullptr);
  EXPECT_EQ(queue.Pop(idle).batch, nullptr);
}

TEST(WorkQueue, HasASleeperWhereOneWaitsAsleepAndHasNothingToDo) {
  WorkQueue queue;
  std::latch has_taken(1);
  std::latch may_go_on(1);
  EXPECT_FALSE(queue.HasSleeper()) << "nobody is there";
  std::thread thread([&] {
    IdleWait idle = Sleeping();
    queue.Pop(idle);
    has_taken.count_down();
    may_go_on.wait();
    queue.Pop(idle);
  });
  while (!queue.HasSleeper()) {
    std::this_thread::yield();
  }
  queue.Push(SomeWork());
  EXPECT_FALSE(queue.HasSleeper()) << "it is woken, or works";
  has_taken.wait();
  EXPECT_FALSE(queue.HasSleeper());
  may_go_on.count_down();
  while (!queue.HasSleeper()) {
    std::this_thread::yield();
  }
  queue.Close();
  thread.join();
}

// Tells a thread whose waits are all of that kind, and gives it work, in turn.
void ExpectIsTold(IdleWait (*waiting)()) {
  constexpr int kRounds = 200;
  WorkQueue queue;
  Events events;
  std::atomic<int> taken{0};
  std::thread thread([&] {
    for (;;) {
      IdleWait idle = waiting();
      if (queue.Pop(idle).batch == nullptr) {
        return;
      }
      ++taken;
      taken.notify_all();
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    while (!queue.WakeOne(events)) {
      std::this_thread::yield();
    }
    events.lanes_awake.wait(round - 1);
    queue.Push(SomeWork());
    taken.wait(round - 1);
  }
  queue.Close();
  thread.join();
  EXPECT_EQ(events.lanes_awake, kRounds);
  EXPECT_EQ(taken, kRounds);
}

TEST(WorkQueue, ThreadThatPollsIsTold) { ExpectIsTold(Polling); }

TEST(WorkQueue, ThreadThatSleepsIsTold) { ExpectIsTold(Sleeping); }

// Threads that poll, sleep and keep alarms take all that is pushed, each once,
// while others are told; whoever waits takes it, however it waits.
TEST(WorkQueue, StressOfPollingAndSleepingThreads) {
  constexpr int kPushed = 4000;
  WorkQueue queue;
  Events events;
  events.on_lane_awake = [](int count) {
    return count % 2 == 0 ? Clock::Steady().Now() + Milliseconds(0.05) : kNever;
  };
  std::vector<Work> works;
  std::vector<const Batch*> pushed;
  for (int i = 0; i < kPushed; ++i) {
    works.push_back(SomeWork());
    works.back().events = &events;
    pushed.push_back(works.back().batch.get());
  }
  std::array<std::vector<std::unique_ptr<Batch>>, 3> taken;
  std::atomic<int> taken_count{0};
  std::vector<std::thread> threads;
  for (auto& own : taken) {
    threads.emplace_back([&] {
      for (;;) {
        IdleWait idle = own.size() % 3 == 0 ? Sleeping() : Polling();
        Work work = queue.Pop(idle);
        if (work.batch == nullptr) {
          return;
        }
        own.push_back(std::move(work.batch));
        ++taken_count;
        taken_count.notify_all();
      }
    });
  }
  std::atomic<bool> is_over{false};
  std::thread teller([&] {
    while (!is_over) {
      queue.WakeOne(events);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kPushed; ++i) {
    queue.Push(std::move(works[static_cast<size_t>(i)]));
    while (i % 3 == 0 && taken_count <= i) {  // so that all wait meanwhile
      std::this_thread::yield();
    }
  }
  for (int now = taken_count; now < kPushed; now = taken_count) {
    taken_count.wait(now);
  }
  is_over = true;
  teller.join();
  queue.Close();
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<const Batch*> all;
  for (const auto& own : taken) {
    for (const auto& batch : own) {
      all.push_back(batch.get());
    }
  }
  std::sort(all.begin(), all.end());
  std::sort(pushed.begin(), pushed.end());
  EXPECT_EQ(all, pushed);
}

}  // namespace
}  // namespace ferry
