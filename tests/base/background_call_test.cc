// Tests that a BackgroundCall answers in time or not at all, and that one which
// hangs holds up no other thread.
#include "base/background_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

constexpr Duration kLong = std::chrono::hours(1);
constexpr Duration kNotAtAll{0};

// A function that waits to be let go, and then counts.
class Gate {
 public:
  int Pass() {
    has_come_.set_value();
    may_go_.get_future().wait();
    return ++passed_;
  }
  void AwaitCall() { has_come_.get_future().wait(); }
  void Open() { may_go_.set_value(); }
  // For the next call. REQUIRES: none runs.
  void Renew() {
    has_come_ = {};
    may_go_ = {};
  }

 private:
  std::promise<void> has_come_;
  std::promise<void> may_go_;
  int passed_ = 0;
};

// Counts how often it is asked for the time.
class CountingClock final : public Clock {
 public:
  TimePoint Now() const override {
    ++asked;
    return clock_.Now();
  }
  void Advance(Duration by) { clock_.Advance(by); }

  mutable std::atomic<int> asked{0};

 private:
  FakeClock clock_;
};

class BackgroundCallTest : public ::testing::Test {
 protected:
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  CountingClock clock_;
  BackgroundCall<int> call_{"test", [gate = gate_] { return gate->Pass(); },
                            clock_};
};

TEST(BackgroundCall, EachAnswerIsOfACallOfItsOwn) {
  std::atomic<int> calls{0};
  BackgroundCall<int> call("test", [&calls] { return ++calls; });
  EXPECT_FALSE(call.last().has_value()) << "nothing was asked";
  EXPECT_EQ(call.running(), std::nullopt);
  EXPECT_EQ(call.AskFor(kLong), 1);
  EXPECT_EQ(call.AskFor(kLong), 2);
  EXPECT_EQ(call.last()->answer, 2);
  EXPECT_EQ(call.running(), std::nullopt);
}

TEST_F(BackgroundCallTest, CallThatHangsHoldsUpNoOther) {
  EXPECT_EQ(call_.AskFor(kNotAtAll), std::nullopt);
  gate_->AwaitCall();
  clock_.Advance(kLong);
  EXPECT_EQ(call_.running(), kLong);
  EXPECT_EQ(call_.AskFor(kLong), std::nullopt) << "its time has passed";
  call_.Ask();
  EXPECT_EQ(call_.running(), kLong) << "none was begun beside it";
  EXPECT_FALSE(call_.last().has_value());
  gate_->Open();
  while (call_.running().has_value()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(call_.last()->answer, 1);
  EXPECT_EQ(call_.last()->age, kLong) << "since its call began";
  gate_->Renew();
  gate_->Open();
  EXPECT_EQ(call_.AskFor(kLong), 2);
  gate_->Renew();
  EXPECT_EQ(call_.AskFor(kNotAtAll), std::nullopt) << "never an older answer";
  EXPECT_EQ(call_.last()->answer, 2);
  gate_->AwaitCall();
  gate_->Open();
}

TEST_F(BackgroundCallTest, WhoAsksWhileItRunsHasTheSameAnswer) {
  call_.Ask();
  gate_->AwaitCall();
  const int asked_before = clock_.asked;
  auto other =
      std::async(std::launch::async, [this] { return call_.AskFor(kLong); });
  // It has the lock from there on until it waits, and no answer comes before.
  while (clock_.asked == asked_before) {
    std::this_thread::yield();
  }
  gate_->Open();
  EXPECT_EQ(other.get(), 1);
}

TEST(BackgroundCall, ThreadThatIsLeftBehindOwnsItsFunction) {
  const auto gate = std::make_shared<Gate>();
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owned;
  {
    BackgroundCall<int> call("test", [gate, owned] { return gate->Pass(); });
    owned.reset();
    call.Ask();
    gate->AwaitCall();
  }  // returns, though the call does not
  EXPECT_FALSE(watched.expired());
  gate->Open();
  while (!watched.expired()) {  // the thread ends, and with it what it owned
    std::this_thread::yield();
  }
}

TEST(BackgroundCall, FunctionGoesWithItWhereNothingHangs) {
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owned;
  {
    BackgroundCall<int> call("test", [owned] { return *owned; });
    owned.reset();
    EXPECT_EQ(call.AskFor(kLong), 1);
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace ferry
