// StreamBackend: the guarantees of Backend over a device that does several
// batches at once, fails in any step, or is lost.
#include "batcher/stream_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "batcher/weighted_gate.h"
#include "tests/batcher/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

enum class Step { kCopyIn, kCompute, kComputed, kCopiedOut };

// A device whose steps are functions of the test.
class ScriptedStreams final : public StreamModel {
 public:
  using Script = std::function<DeviceOutcome(Step, int32_t place)>;

  explicit ScriptedStreams(int32_t places, Script script = nullptr)
      : places_(places), script_(std::move(script)) {}

  const ModelSpec& spec() const override { return spec_; }
  int32_t places() const override { return places_; }
  absl::Status WarmUp() override { return warm_up; }
  DeviceOutcome CopyIn(int32_t place, const Batch&) override {
    return Play(Step::kCopyIn, place);
  }
  DeviceOutcome Compute(int32_t place, const Batch&,
                        OutputRef& output) override {
    output = pool_.Take();
    return Play(Step::kCompute, place);
  }
  DeviceOutcome AwaitComputed(int32_t place, DeviceTimes& times) override {
    times = {.copy_in = Milliseconds(2), .compute = Milliseconds(3)};
    return Play(Step::kComputed, place);
  }
  DeviceOutcome AwaitCopiedOut(int32_t place) override {
    return Play(Step::kCopiedOut, place);
  }

  absl::Status warm_up;

 private:
  DeviceOutcome Play(Step step, int32_t place) {
    return script_ ? script_(step, place) : DeviceOutcome{};
  }

  const ModelSpec spec_ = RowSpec();
  const int32_t places_;
  const Script script_;
  HostOutputPool pool_{1, 4};
};

std::unique_ptr<StreamBackend> MakeStreams(
    int32_t slots, ScriptedStreams::Script script = nullptr,
    const StreamBackendOptions& options = {}) {
  auto backend = StreamBackend::Create(
      std::make_unique<ScriptedStreams>(slots + 1, std::move(script)), options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

TEST(StreamBackend, TakesABatchThroughAllItsSteps) {
  Events events;
  TestRequest request;
  auto backend = MakeStreams(3);
  EXPECT_EQ(backend->lanes(), 1);
  EXPECT_EQ(backend->slots(), 3);
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  EXPECT_EQ(request.code(), StatusCode::kOk);
  backend.reset();
  EXPECT_EQ(events.staged, 1);
  EXPECT_EQ(events.ended, 1);
  EXPECT_EQ(events.slots_freed, 1);
  EXPECT_EQ(events.finished, 1);
}

TEST(StreamBackend, StartsTheNextBatchesBeforeTheFirstIsComputed) {
  Events events;  // outlives the backend
  std::latch all_started(3);
  auto backend = MakeStreams(3, [&](Step step, int32_t) -> DeviceOutcome {
    if (step == Step::kCompute) {
      all_started.count_down();
    } else if (step == Step::kComputed) {
      all_started.wait();  // for ever, if the next ones waited for this one
    }
    return {};
  });
  TestRequest requests[3];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilReleased();
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
}

TEST(StreamBackend, PlacesAreUsedInTurn) {
  std::vector<int32_t> places;
  auto backend = MakeStreams(2, [&](Step step, int32_t place) -> DeviceOutcome {
    if (step == Step::kCopyIn) {
      places.push_back(place);
    }
    return {};
  });
  Events events;
  for (int i = 0; i < 5; ++i) {
    TestRequest request;
    backend->Start(BatchOf(request), events);
    request.completion().WaitUntilReleased();
  }
  backend.reset();
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 0, 1));
}

TEST(StreamBackend, TimesAreTheDevices) {
  class Watching final : public BackendEvents {
   public:
    void Staged(Batch&) override {}
    void ComputeEnded(Batch& batch) override { times = batch.times(); }
    void SlotFree() override {}
    TimePoint LaneAwake() override { return kNever; }
    void LaneBusy() override {}
    void Finished(std::unique_ptr<Batch> batch) override {
      batch->Resolve(Clock::Steady());
    }
    void Broken(Outcome) override {}

    Batch::Times times;
  };
  Watching events;
  TestRequest request;
  auto backend = MakeStreams(2);
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  backend.reset();
  const Batch::Times& times = events.times;
  EXPECT_EQ(times.compute_end - times.compute_begin, Milliseconds(3));
  EXPECT_EQ(times.lane_begin, times.compute_begin);
  EXPECT_GE(times.staging, Milliseconds(2));
}

class StreamBackendStep : public ::testing::TestWithParam<Step> {};

TEST_P(StreamBackendStep, ThatFailsOrThrowsFailsOnlyItsBatch) {
  std::array<int, 4> counts{};
  auto backend = MakeStreams(2, [&](Step step, int32_t) -> DeviceOutcome {
    if (step != GetParam()) {
      return {};
    }
    switch (++counts[static_cast<size_t>(step)]) {
      case 1:
        return {.outcome = {StatusCode::kInternal, "device said no"}};
      case 2:
        throw std::runtime_error("step threw");
      default:
        return {};
    }
  });
  Events events;
  TestRequest requests[3];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
    request.completion().WaitUntilReleased();
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[0].completion().outcome().text, "device said no");
  EXPECT_EQ(requests[1].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[1].completion().outcome().text,
               "model failed on this batch");
  EXPECT_EQ(requests[2].code(), StatusCode::kOk);
  backend.reset();
  EXPECT_EQ(events.staged, 3);
  EXPECT_EQ(events.ended, 3);
  EXPECT_EQ(events.slots_freed, 3);
}

TEST_P(StreamBackendStep, ThatLosesTheDeviceFailsAllThatFollows) {
  std::atomic<int> touched{0};  // after it was lost
  std::atomic<bool> is_lost{false};
  auto backend = MakeStreams(2, [&](Step step, int32_t) -> DeviceOutcome {
    touched += is_lost ? 1 : 0;
    if (step != GetParam()) {
      return {};
    }
    is_lost = true;
    return {.outcome = {StatusCode::kInternal, "device is gone"},
            .is_lost = true};
  });
  Events events;
  events.may_break = true;
  TestRequest requests[4];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
    request.completion().WaitUntilReleased();
    EXPECT_EQ(request.code(), StatusCode::kInternal);
    EXPECT_STREQ(request.completion().outcome().text, "device is gone");
  }
  backend.reset();
  EXPECT_EQ(events.broken, 1);
  EXPECT_EQ(touched, 0);
  EXPECT_EQ(events.slots_freed, 4);
}

std::string NameOf(const ::testing::TestParamInfo<Step>& its) {
  switch (its.param) {
    case Step::kCopyIn:
      return "CopyIn";
    case Step::kCompute:
      return "Compute";
    case Step::kComputed:
      return "Computed";
    default:
      return "CopiedOut";
  }
}

INSTANTIATE_TEST_SUITE_P(EachStep, StreamBackendStep,
                         ::testing::Values(Step::kCopyIn, Step::kCompute,
                                           Step::kComputed, Step::kCopiedOut),
                         NameOf);

TEST(StreamBackend, OutputOfABatchThatFailedIsWaitedForAndItsTimeCounted) {
  class Watching final : public BackendEvents {
   public:
    void Staged(Batch&) override {}
    void ComputeEnded(Batch& batch) override {
      compute = batch.times().compute_end - batch.times().compute_begin;
    }
    void SlotFree() override {}
    TimePoint LaneAwake() override { return kNever; }
    void LaneBusy() override {}
    void Finished(std::unique_ptr<Batch> batch) override {
      batch->Resolve(Clock::Steady());
    }
    void Broken(Outcome) override {}

    Duration compute{0};
  };
  Watching events;
  TestRequest request;
  int waited = 0;
  auto backend = MakeStreams(2, [&](Step step, int32_t) -> DeviceOutcome {
    if (step == Step::kCopiedOut) {
      ++waited;
    }
    return step == Step::kComputed
               ? DeviceOutcome{.outcome = {StatusCode::kInternal, "no"}}
               : DeviceOutcome{};
  });
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  backend.reset();
  EXPECT_EQ(request.code(), StatusCode::kInternal);
  EXPECT_EQ(waited, 1) << "the device may have been writing it";
  EXPECT_GT(events.compute, Duration(0)) << "it held the device";
}

TEST(StreamBackend, WhatWasUnderWayWhenTheDeviceWasLostFailsToo) {
  std::latch both_started(2);
  auto backend = MakeStreams(2, [&](Step step, int32_t) -> DeviceOutcome {
    if (step == Step::kCompute) {
      both_started.count_down();
    } else if (step == Step::kComputed) {
      both_started.wait();
      return {.outcome = {StatusCode::kInternal, "device is gone"},
              .is_lost = true};
    }
    return {};
  });
  Events events;
  events.may_break = true;
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilReleased();
    EXPECT_STREQ(request.completion().outcome().text, "device is gone");
  }
  backend.reset();
  EXPECT_EQ(events.broken, 1);
}

TEST(StreamBackend, ManyBatchesAreEachAnsweredOnce) {
  constexpr int kBatches = 500;
  auto backend = MakeStreams(3);
  Events events;
  std::vector<std::unique_ptr<TestRequest>> requests;
  for (int i = 0; i < kBatches; ++i) {
    // As the batcher: never more in it than there are slots.
    for (int free = events.slots_freed; i - free >= 3;
         free = events.slots_freed) {
      std::this_thread::yield();
    }
    requests.push_back(std::make_unique<TestRequest>());
    backend->Start(BatchOf(*requests.back()), events);
  }
  backend.reset();
  EXPECT_EQ(events.finished, kBatches);
  for (const auto& request : requests) {
    EXPECT_EQ(request->completion().respond_count(), 1);
  }
}

TEST(StreamBackend, GateLetsOneComputeAtATime) {
  Events events_of_one;  // these outlive the backends
  Events events_of_other;
  WeightedGate gate(1);
  std::atomic<int> computing{0};
  std::atomic<int> most{0};
  const auto script = [&](Step step, int32_t) -> DeviceOutcome {
    if (step == Step::kCompute) {
      most = std::max(most.load(), ++computing);
    } else if (step == Step::kComputed) {
      --computing;
    }
    return {};
  };
  const StreamBackendOptions options{.gate = &gate};
  auto one = MakeStreams(2, script, options);
  auto other = MakeStreams(2, script, options);
  for (int i = 0; i < 50; ++i) {
    TestRequest first;
    TestRequest second;
    TestRequest third;
    one->Start(BatchOf(first), events_of_one);
    other->Start(BatchOf(second), events_of_other);
    one->Start(BatchOf(third), events_of_one);
    first.completion().WaitUntilReleased();
    second.completion().WaitUntilReleased();
    third.completion().WaitUntilReleased();
  }
  EXPECT_EQ(most, 1);
}

TEST(StreamBackend, ModelThatDoesNotWarmUpDoesNotServe) {
  auto model = std::make_unique<ScriptedStreams>(3);
  model->warm_up = absl::FailedPreconditionError("no kernel for this device");
  const auto backend = StreamBackend::Create(std::move(model), {});
  EXPECT_EQ(backend.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(backend.status().message(), "no kernel for this device");
}

TEST(StreamBackend, DestructorWaitsForWhatWasStarted) {
  Events events;
  TestRequest requests[2];
  {
    auto backend = MakeStreams(2);
    for (TestRequest& request : requests) {
      backend->Start(BatchOf(request), events);
    }
  }
  EXPECT_EQ(events.finished, 2);
}

}  // namespace
}  // namespace ferry
