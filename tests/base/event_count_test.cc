// Tests that EventCount loses no wake-up and that waits end at their time.
#include "base/event_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ferry {
namespace {

TEST(EventCount, NotifyBetweenPrepareAndWaitEndsTheWait) {
  EventCount events;
  const EventCount::Key key = events.PrepareWait();
  events.Notify();
  events.Wait(key, kNever);  // hangs if the notification was lost
}

TEST(EventCount, NotifyFromAnotherThreadEndsTheWait) {
  EventCount events;
  std::atomic<bool> has_news{false};
  std::thread notifier([&] {
    has_news.store(true);
    events.Notify();
  });
  for (;;) {
    const EventCount::Key key = events.PrepareWait();
    if (has_news.load()) {
      events.CancelWait();
      break;
    }
    events.Wait(key, kNever);
  }
  notifier.join();
}

TEST(EventCount, WaitEndsAtItsTime) {
  EventCount events;
  const TimePoint until = Clock::Steady().Now() + Milliseconds(2);
  events.Wait(events.PrepareWait(), until);
  EXPECT_GE(Clock::Steady().Now(), until);
}

TEST(EventCount, WaitUntilAPastTimeReturns) {
  EventCount events;
  events.Wait(events.PrepareWait(), TimePoint{});
  events.Wait(events.PrepareWait(), Clock::Steady().Now());
}

TEST(EventCount, OldNotificationDoesNotEndALaterWait) {
  EventCount events;
  events.Notify();  // no thread waits: nothing is remembered
  const EventCount::Key cancelled = events.PrepareWait();
  events.CancelWait();
  events.Notify();
  const EventCount::Key key = events.PrepareWait();
  EXPECT_EQ(key, cancelled);  // no waiter, no wake-up counted
  const TimePoint until = Clock::Steady().Now() + Milliseconds(1);
  events.Wait(key, until);
  EXPECT_GE(Clock::Steady().Now(), until);
}

TEST(EventCount, KeyOfANotifiedWaitNeverMatchesALaterOne) {
  EventCount events;
  EventCount::Key last = events.PrepareWait();
  for (int i = 0; i < 100; ++i) {
    events.Notify();
    const EventCount::Key key = events.PrepareWait();
    EXPECT_NE(key, last);
    last = key;
  }
  events.CancelWait();
}

TEST(EventCount, SecondNotifyOfOneWaitIsFree) {
  EventCount events;
  const EventCount::Key key = events.PrepareWait();
  events.Notify();
  const EventCount::Key notified = events.PrepareWait();
  EXPECT_NE(key, notified);
  events.CancelWait();
  events.Notify();
  events.Notify();
  EXPECT_EQ(events.PrepareWait(), notified);
  events.CancelWait();
}

}  // namespace
}  // namespace ferry
