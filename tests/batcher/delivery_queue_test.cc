// DeliveryQueue: each is taken once, whether the thread looks or is woken.
#include "batcher/delivery_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace ferry {
namespace {

constexpr Duration kLong = std::chrono::hours(1);

Work SomeWork() { return {.batch = std::make_unique<Batch>(1, 1)}; }

TEST(DeliveryQueue, GivesTheOldestFirstAndAllBeforeItEnds) {
  DeliveryQueue queue;
  Work works[] = {SomeWork(), SomeWork()};
  const Batch* const first = works[0].batch.get();
  const Batch* const second = works[1].batch.get();
  for (Work& work : works) {
    queue.Push(std::move(work), kLong);
  }
  queue.Close();
  EXPECT_EQ(queue.Pop().batch.get(), first);
  EXPECT_EQ(queue.Pop().batch.get(), second);
  EXPECT_EQ(queue.Pop().batch, nullptr);
}

// A thread that takes what comes, and counts it.
class Taker {
 public:
  explicit Taker(DeliveryQueue& queue)
      : queue_(queue), thread_([this] {
          while (queue_.Pop().batch != nullptr) {
            ++taken_;
            taken_.notify_all();
          }
        }) {}
  ~Taker() {
    queue_.Close();
    thread_.join();
  }

  void WaitFor(int count) {
    for (int now = taken_; now < count; now = taken_) {
      taken_.wait(now);
    }
  }

 private:
  DeliveryQueue& queue_;
  std::atomic<int> taken_{0};
  std::thread thread_;
};

// Each of these ends only if the thread takes what was put in.
TEST(DeliveryQueue, WakesAThreadThatLooksForNothing) {
  DeliveryQueue queue;
  Taker taker(queue);
  for (int i = 1; i <= 100; ++i) {
    queue.Push(SomeWork(), kLong);
    taker.WaitFor(i);
  }
  EXPECT_EQ(queue.spared(), 0);
}

TEST(DeliveryQueue, WakesAThreadThatWouldLookTooLate) {
  DeliveryQueue queue;
  Taker taker(queue);
  for (int i = 1; i <= 100; ++i) {
    queue.Expect(Clock::Steady().Now() + 2 * kLong, kLong);
    queue.Push(SomeWork(), i % 2 == 0 ? Duration(0) : Milliseconds(0.1));
    taker.WaitFor(i);
  }
}

TEST(DeliveryQueue, ThreadLooksByItselfAboutWhenSomethingIsExpected) {
  DeliveryQueue queue;
  Taker taker(queue);
  for (int i = 1; queue.spared() < 20; ++i) {
    queue.Expect(Clock::Steady().Now() + Milliseconds(0.2), Milliseconds(0.4));
    queue.Push(SomeWork(), kLong);
    taker.WaitFor(i);
  }
}

TEST(DeliveryQueue, WakesAThreadForWhatIsLaterThanExpected) {
  DeliveryQueue queue;
  Taker taker(queue);
  queue.Expect(Clock::Steady().Now() - kLong, Milliseconds(0.1));
  queue.Push(SomeWork(), kLong);
  taker.WaitFor(1);
}

TEST(DeliveryQueue, StressOfLooksAndWakeUps) {
  constexpr int kEach = 2000;
  DeliveryQueue queue;
  {
    Taker taker(queue);
    std::vector<std::thread> lanes;
    for (int lane = 0; lane < 2; ++lane) {
      lanes.emplace_back([&queue, lane] {
        for (int i = 0; i < kEach; ++i) {
          if (i % 3 == lane) {
            queue.Expect(Clock::Steady().Now() + std::chrono::microseconds(20),
                         std::chrono::microseconds(40));
          }
          queue.Push(SomeWork(), std::chrono::microseconds(10 * (i % 4)));
        }
      });
    }
    for (std::thread& lane : lanes) {
      lane.join();
    }
    taker.WaitFor(2 * kEach);
    EXPECT_LT(queue.spared(), 2 * kEach);
  }
}

}  // namespace
}  // namespace ferry
