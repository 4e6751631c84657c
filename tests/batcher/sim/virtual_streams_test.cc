// VirtualStreams: what overlaps and what waits, to the nanosecond; and the real
// batcher on it: a device that is kept busy, errors that stay with their batch.
#include "batcher/sim/virtual_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "batcher/batcher.h"
#include "tests/batcher/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

StepTime Takes(double ms) { return {.batch = Milliseconds(ms)}; }

// Plays a device to its end.
void PlayAll(VirtualStreams& device, VirtualClock& clock) {
  while (device.next_event() != kNever) {
    clock.MoveTo(std::max(clock.Now(), device.next_event()));
    device.PlayNext();
  }
}

// When each batch was computed and finished, since the clock's start.
class Log final : public BackendEvents {
 public:
  explicit Log(const VirtualClock& clock) : clock_(clock) {}

  void Staged(Batch&) override { staged.push_back(Since()); }
  void ComputeEnded(Batch&) override { computed.push_back(Since()); }
  void SlotFree() override {}
  TimePoint LaneAwake() override { return kNever; }
  void LaneBusy() override {}
  void Finished(std::unique_ptr<Batch> batch) override {
    finished.push_back(Since());
    batch->Resolve(clock_);
  }
  void Broken(Outcome) override {}

  std::vector<Duration> staged;
  std::vector<Duration> computed;
  std::vector<Duration> finished;

 private:
  Duration Since() const { return clock_.Now() - VirtualClock::kStart; }

  const VirtualClock& clock_;
};

std::vector<Duration> AtMs(std::initializer_list<double> moments) {
  std::vector<Duration> result;
  for (const double each : moments) {
    result.push_back(Milliseconds(each));
  }
  return result;
}

TEST(VirtualStreams, CopiesGoBesideComputeAndBatchesStayInOrder) {
  VirtualClock clock;
  Log log(clock);
  VirtualStreams device({.slots = 2,
                         .gather = Takes(1),
                         .copy_in = Takes(2),
                         .compute = Takes(5),
                         .copy_out = Takes(1)},
                        clock);
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    device.Start(BatchOf(request), log);
  }
  PlayAll(device, clock);
  EXPECT_EQ(log.staged, AtMs({1, 2}));
  EXPECT_EQ(log.computed, AtMs({1 + 2 + 5, 1 + 2 + 5 + 5}));
  EXPECT_EQ(log.finished, AtMs({9, 14}));
}

TEST(VirtualStreams, NextComputeDoesNotWaitForTheLastCopyOut) {
  VirtualClock clock;
  Log log(clock);
  VirtualStreams device({.slots = 1, .compute = Takes(2), .copy_out = Takes(3)},
                        clock);
  TestRequest requests[2];
  device.Start(BatchOf(requests[0]), log);
  while (log.computed.empty()) {
    clock.MoveTo(device.next_event());
    device.PlayNext();
  }
  device.Start(BatchOf(requests[1]), log);
  PlayAll(device, clock);
  EXPECT_EQ(log.computed, AtMs({2, 5})) << "computed at 4, seen after a copy";
  EXPECT_EQ(log.finished, AtMs({5, 8}));
}

// Requests of one row that come back as soon as they are answered.
class ClosedLoop {
 public:
  ClosedLoop(const VirtualStreamsOptions& options, int outstanding)
      : requests_(static_cast<size_t>(outstanding)) {
    auto device = std::make_unique<VirtualStreams>(options, clock_);
    device_ = device.get();
    auto batcher =
        Batcher::Create(std::move(device), {.max_batch_size = 64,
                                            .stepping = Stepping::kByCaller,
                                            .clock = &clock_});
    EXPECT_TRUE(batcher.ok()) << batcher.status();
    batcher_ = *std::move(batcher);
  }
  ~ClosedLoop() { Play(kNever, /*sends=*/false); }

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
      const Wait wait = batcher_->Step();
      const TimePoint next = std::min(device_->next_event(), wait.until);
      if (next > until || (next == kNever && batcher_->idle())) {
        return;
      }
      clock_.MoveTo(std::max(clock_.Now(), next));
      if (device_->next_event() <= clock_.Now()) {
        device_->PlayNext();
      }
    }
  }

  Batcher& batcher() { return *batcher_; }
  int ok = 0;
  int failed = 0;
  int refused = 0;

 private:
  void Renew(TestRequest& request, bool sends) {
    const bool is_new = !sent_.contains(&request);
    if (!is_new && !request.completion().is_released()) {
      return;
    }
    if (!is_new) {
      ++(request.code() == StatusCode::kOk ? ok : failed);
      request.Reset();
      sent_.erase(&request);
    }
    if (sends) {
      if (batcher_->Submit(request.request()).ok()) {
        sent_.insert(&request);
      } else {
        ++refused;
      }
    }
  }

  VirtualClock clock_;
  std::deque<TestRequest> requests_;
  std::set<TestRequest*> sent_;
  VirtualStreams* device_ = nullptr;
  std::unique_ptr<Batcher> batcher_;
};

class Saturation : public ::testing::TestWithParam<double> {};

// A batch of 64 computes for 1 + 64 * 0.05 = 4.2 ms.
TEST_P(Saturation, DeviceIsKeptBusyWhateverTheCopiesTake) {
  const auto share = [](double part) {
    return StepTime{Milliseconds(1 * part), Milliseconds(0.05 * part)};
  };
  ClosedLoop loop({.slots = 2,
                   .gather = share(0.1),
                   .copy_in = share(GetParam()),
                   .compute = share(1),
                   .copy_out = share(0.3)},
                  /*outstanding=*/256);
  EXPECT_GE(loop.BusyRatio(Milliseconds(500)), 0.98);
}

INSTANTIATE_TEST_SUITE_P(CopyInOverCompute, Saturation,
                         ::testing::Values(0, 0.2, 0.4, 0.6, 0.8));

TEST(VirtualStreams, WithOneSlotTheDeviceWaitsForTheHost) {
  ClosedLoop loop({.slots = 1,
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
  EXPECT_FALSE(loop.batcher().broken());
}

TEST(VirtualStreams, LostDeviceFailsWhatIsUnderWayAndTakesNoMore) {
  ClosedLoop loop({.lost_after = 5}, /*outstanding=*/128);
  loop.Play(VirtualClock::kStart + Milliseconds(1000), true);
  EXPECT_TRUE(loop.batcher().broken());
  EXPECT_GT(loop.failed, 0);
  EXPECT_GT(loop.refused, 0);
  loop.Play(kNever, false);
  EXPECT_TRUE(loop.batcher().idle()) << "everybody was answered";
}

}  // namespace
}  // namespace ferry
