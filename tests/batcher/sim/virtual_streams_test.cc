// Tests what overlaps and what waits in VirtualStreams, to the nanosecond; and
// the real scheduler on it: a device that is kept busy, errors that stay with
// their batch.
#include "batcher/sim/virtual_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "batcher/scheduler.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

StepTime Takes(double ms) { return {.batch = Milliseconds(ms)}; }

std::vector<Duration> AtMs(std::initializer_list<double> moments) {
  std::vector<Duration> result;
  for (const double each : moments) {
    result.push_back(Milliseconds(each));
  }
  return result;
}

// When two requests, each in a batch of its own, are answered.
std::vector<Duration> AnsweredAt(const VirtualStreamsOptions& options) {
  VirtualClock clock;
  TestRequest requests[2];
  std::vector<Duration> answered;
  VirtualStreams device(options, clock);
  SchedulerOptions scheduling = {.max_requests_per_batch = 1};
  scheduling.clock = &clock;
  auto scheduler = *Scheduler::Create(device.pulled(), scheduling);
  device.Attach(*scheduler);
  for (TestRequest& request : requests) {
    request.completion().on_respond = [&] {
      answered.push_back(clock.Now() - VirtualClock::kStart);
    };
    EXPECT_TRUE(scheduler->Submit(request.request()).ok());
  }
  for (device.Pull(); !scheduler->IsIdle(); device.Pull()) {
    clock.MoveTo(std::min(device.next_event(), device.next_pull()));
    if (device.next_event() <= clock.Now()) {
      device.PlayNext();
    }
  }
  return answered;
}

TEST(VirtualStreams, CopiesGoBesideComputeAndBatchesStayInOrder) {
  EXPECT_EQ(AnsweredAt({.max_in_flight = 2,
                        .gather = Takes(1),
                        .copy_in = Takes(2),
                        .compute = Takes(5),
                        .copy_out = Takes(1)}),
            AtMs({1 + 2 + 5 + 1, 1 + 2 + 5 + 5 + 1}));
}

TEST(VirtualStreams, NextComputeDoesNotWaitForTheLastCopyOut) {
  EXPECT_EQ(
      AnsweredAt(
          {.max_in_flight = 1, .compute = Takes(2), .copy_out = Takes(3)}),
      AtMs({5, 8}))
      << "computed at 2 and 4";
}

// Requests of one row that come back as soon as they are answered.
class ClosedLoop {
 public:
  ClosedLoop(const VirtualStreamsOptions& options, int outstanding)
      : requests_(static_cast<size_t>(outstanding)),
        device_(std::make_unique<VirtualStreams>(options, clock_)) {
    auto scheduler = Scheduler::Create(
        device_->pulled(), {.max_batch_size = 64, .clock = &clock_});
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    scheduler_ = *std::move(scheduler);
    device_->Attach(*scheduler_);
  }
  ~ClosedLoop() {
    Play(kNever, /*sends=*/false);
    device_.reset();
  }

  // Returns the device's busy ratio over the second half.
  double BusyRatio(Duration half) {
    const TimePoint begin = clock_.Now();
    Play(begin + half, true);
    const Duration before = device_->busy();
    const TimePoint middle = clock_.Now();
    Play(begin + 2 * half, true);
    return static_cast<double>((device_->busy() - before).count()) /
           static_cast<double>((clock_.Now() - middle).count());
  }

  void Play(TimePoint until, bool sends) {
    for (;;) {
      for (TestRequest& request : requests_) {
        Renew(request, sends);
      }
      device_->Pull();
      const TimePoint next =
          std::min(device_->next_event(), device_->next_pull());
      if (next > until || (next == kNever && scheduler_->IsIdle())) {
        return;
      }
      clock_.MoveTo(std::max(clock_.Now(), next));
      if (device_->next_event() <= clock_.Now()) {
        device_->PlayNext();
      }
    }
  }

  Scheduler& scheduler() { return *scheduler_; }
  int ok = 0;
  int failed = 0;
  int refused = 0;

 private:
  void Renew(TestRequest& request, bool sends) {
    const bool is_new = !sent_.contains(&request);
    if (!is_new && !request.completion().is_answered()) {
      return;
    }
    if (!is_new) {
      ++(request.code() == StatusCode::kOk ? ok : failed);
      request.Reset();
      sent_.erase(&request);
    }
    if (sends) {
      if (scheduler_->Submit(request.request()).ok()) {
        sent_.insert(&request);
      } else {
        ++refused;
      }
    }
  }

  VirtualClock clock_;
  std::deque<TestRequest> requests_;
  std::set<TestRequest*> sent_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<VirtualStreams> device_;
};

class Saturation : public ::testing::TestWithParam<double> {};

// A batch of 64 computes for 1 + 64 * 0.05 = 4.2 ms.
TEST_P(Saturation, DeviceIsKeptBusyWhateverTheCopiesTake) {
  const auto share = [](double part) {
    return StepTime{Milliseconds(1 * part), Milliseconds(0.05 * part)};
  };
  ClosedLoop loop({.max_in_flight = 2,
                   .gather = share(0.1),
                   .copy_in = share(GetParam()),
                   .compute = share(1),
                   .copy_out = share(0.3)},
                  /*outstanding=*/256);
  EXPECT_GE(loop.BusyRatio(Milliseconds(500)), 0.98);
}

INSTANTIATE_TEST_SUITE_P(CopyInOverCompute, Saturation,
                         ::testing::Values(0, 0.2, 0.4, 0.6, 0.8));

TEST(VirtualStreams, WithOneBatchInFlightTheDeviceWaitsForTheHost) {
  ClosedLoop loop({.max_in_flight = 1,
                   .copy_in = {Milliseconds(1), Milliseconds(0.05)},
                   .compute = {Milliseconds(1), Milliseconds(0.05)}},
                  /*outstanding=*/256);
  EXPECT_LT(loop.BusyRatio(Milliseconds(500)), 0.6);
}

TEST(VirtualStreams, BatchThatFailsIsAnsweredAndTheNextAreServed) {
  ClosedLoop loop({.fail_every = 10}, /*outstanding=*/128);
  loop.Play(VirtualClock::kStart + Milliseconds(1000), true);
  EXPECT_GT(loop.failed, 0);
  EXPECT_GT(loop.ok, loop.failed * 8);
  EXPECT_EQ(loop.refused, 0);
  EXPECT_FALSE(loop.scheduler().is_device_lost());
}

TEST(VirtualStreams, LostDeviceFailsWhatIsUnderWayAndTakesNoMore) {
  for (const bool at_copy_out : {false, true}) {
    ClosedLoop loop({.lost_after = 5, .is_lost_at_copy_out = at_copy_out},
                    /*outstanding=*/128);
    loop.Play(VirtualClock::kStart + Milliseconds(1000), true);
    EXPECT_TRUE(loop.scheduler().is_device_lost());
    EXPECT_GT(loop.failed, 0);
    EXPECT_GT(loop.refused, 0);
    loop.Play(kNever, false);
    EXPECT_TRUE(loop.scheduler().IsIdle()) << "everything is answered";
  }
}

TEST(VirtualStreams, DeviceThatIsLostAtTheLastCopyOutTakesNoMore) {
  ClosedLoop loop({.lost_after = 0, .is_lost_at_copy_out = true},
                  /*outstanding=*/1);
  loop.Play(VirtualClock::kStart, true);
  loop.Play(kNever, false);
  EXPECT_TRUE(loop.scheduler().is_device_lost()) << "no batch came after it";
}

}  // namespace
}  // namespace ferry
