// HostBackend: the guarantees of Backend over models that fail, throw, wait.
#include "batcher/host_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/batcher/scripted_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

TEST(HostBackend, RunsABatchThroughAllItsSteps) {
  Events events;
  TestRequest request;
  auto backend = MakeBackend(OneModel());
  EXPECT_EQ(backend->lanes(), 1);
  EXPECT_EQ(backend->slots(), 1);
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  EXPECT_EQ(request.code(), StatusCode::kOk);
  backend.reset();
  EXPECT_EQ(events.staged, 1);
  EXPECT_EQ(events.ended, 1);
  EXPECT_EQ(events.slots_freed, 1);
  EXPECT_EQ(events.finished, 1);
}

TEST(HostBackend, SlotsAreThoseOfAllLanes) {
  auto models = OneModel();
  models.push_back(std::make_unique<ScriptedModel>());
  const auto backend = MakeBackend(std::move(models), {.slots_per_lane = 2});
  EXPECT_EQ(backend->lanes(), 2);
  EXPECT_EQ(backend->slots(), 4);
}

TEST(HostBackend, ModelThatFailsOrThrowsFailsOnlyItsBatch) {
  int count = 0;
  auto models = OneModel([&count](const Batch&) -> Outcome {
    switch (++count) {
      case 1:
        return {StatusCode::kInternal, "model said no"};
      case 2:
        throw std::runtime_error("compute threw");
      case 3:
        throw 42;  // NOLINT: not an exception of the standard library
      default:
        return {};
    }
  });
  Events events;
  auto backend = MakeBackend(std::move(models));
  TestRequest requests[4];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
    request.completion().WaitUntilReleased();
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[0].completion().outcome().text, "model said no");
  EXPECT_EQ(requests[1].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[2].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[3].code(), StatusCode::kOk);
  backend.reset();
  EXPECT_EQ(events.staged, 4);
  EXPECT_EQ(events.ended, 4);
  EXPECT_EQ(events.slots_freed, 4);
}

TEST(HostBackend, BatchThatCannotBeStagedIsNotComputed) {
  auto model = std::make_unique<ScriptedModel>([](const Batch&) -> Outcome {
    ADD_FAILURE() << "computed what was not staged";
    return {};
  });
  int count = 0;
  model->on_stage = [&count](const Batch&) -> Outcome {
    if (++count == 1) {
      throw std::runtime_error("stage threw");
    }
    return {StatusCode::kInvalidArgument, "stage said no"};
  };
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::move(model));
  Events events;
  auto backend = MakeBackend(std::move(models));
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
    request.completion().WaitUntilReleased();
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[1].code(), StatusCode::kInvalidArgument);
  backend.reset();
  EXPECT_EQ(events.staged, 2) << "reported also for what could not be staged";
}

TEST(HostBackend, ModelThatGivesNoOutputFailsItsBatch) {
  class Forgetful final : public HostModel {
   public:
    const ModelSpec& spec() const override { return spec_; }
    absl::Status WarmUp() override { return absl::OkStatus(); }
    Outcome Stage(const Batch&) override { return {}; }
    Outcome Compute(const Batch&, OutputRef&) override { return {}; }

   private:
    const ModelSpec spec_ = RowSpec();
  };
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::make_unique<Forgetful>());
  Events events;
  auto backend = MakeBackend(std::move(models));
  TestRequest request;
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  EXPECT_EQ(request.code(), StatusCode::kInternal);
  backend.reset();
}

TEST(HostBackend, ErrorOrExceptionOfAnyWarmUpIsCreatesError) {
  const std::function<absl::Status()> kWarmUps[] = {
      [] { return absl::NotFoundError("no weights"); },
      []() -> absl::Status { throw std::runtime_error("no weights"); },
      []() -> absl::Status { throw 42; },  // NOLINT
  };
  for (const auto& warm_up : kWarmUps) {
    auto models = OneModel();
    auto bad = std::make_unique<ScriptedModel>();
    bad->on_warm_up = warm_up;
    models.push_back(std::move(bad));
    EXPECT_FALSE(HostBackend::Create(std::move(models), {}).ok());
  }
}

TEST(HostBackend, EveryModelIsWarmedUpOnTheThreadThatComputes) {
  std::thread::id warmed_on;
  std::thread::id computed_on;
  auto model = std::make_unique<ScriptedModel>([&](const Batch&) -> Outcome {
    computed_on = std::this_thread::get_id();
    return {};
  });
  model->on_warm_up = [&] {
    warmed_on = std::this_thread::get_id();
    return absl::OkStatus();
  };
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::move(model));
  Events events;
  auto backend = MakeBackend(std::move(models));
  EXPECT_NE(warmed_on, std::thread::id());
  TestRequest request;
  backend->Start(BatchOf(request), events);
  request.completion().WaitUntilReleased();
  EXPECT_EQ(computed_on, warmed_on);
  backend.reset();
}

TEST(HostBackend, LanesComputeAtTheSameTime) {
  // Each waits for the other: one lane alone would never end.
  std::latch both_compute(2);
  std::vector<std::unique_ptr<HostModel>> models;
  for (int lane = 0; lane < 2; ++lane) {
    models.push_back(
        std::make_unique<ScriptedModel>([&](const Batch&) -> Outcome {
          both_compute.arrive_and_wait();
          return {};
        }));
  }
  Events events;
  auto backend = MakeBackend(std::move(models));
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilReleased();
  }
  backend.reset();
  EXPECT_EQ(events.lanes_seen[0], 1);
  EXPECT_EQ(events.lanes_seen[1], 1);
}

TEST(HostBackend, DestructorFinishesWhatWasStarted) {
  Events events;
  TestRequest requests[3];
  auto backend = MakeBackend(OneModel(), {.slots_per_lane = 3});
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  backend.reset();
  EXPECT_EQ(events.finished, 3);
  for (TestRequest& request : requests) {
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
}

// Lets one lane in when it was told that it is its turn.
class TurnGate final : public DeviceGate {
 public:
  Turn TryEnter(GateClient& client, TimePoint) override {
    if (!let_in_.load()) {
      waiting_.store(&client);
      waiting_.notify_one();
    }
    const bool is_let_in = let_in_.load();
    entered += is_let_in ? 1 : 0;
    return {.is_let_in = is_let_in};
  }
  void Leave(GateClient&, Duration, TimePoint) override { ++left; }

  void LetIn() {
    waiting_.wait(nullptr);
    let_in_.store(true);
    waiting_.load()->GateFree();
  }

  std::atomic<int> entered{0};
  std::atomic<int> left{0};

 private:
  std::atomic<GateClient*> waiting_{nullptr};
  std::atomic<bool> let_in_{false};
};

TEST(HostBackend, LaneWaitsForItsTurnAtTheGateAndLeavesItAlways) {
  TurnGate gate;
  std::atomic<bool> was_computed{false};
  auto models = OneModel([&](const Batch&) -> Outcome {
    was_computed = true;
    throw std::runtime_error("failed behind the gate");
  });
  Events events;
  auto backend = MakeBackend(std::move(models), {.gate = &gate});
  TestRequest request;
  backend->Start(BatchOf(request), events);
  EXPECT_FALSE(was_computed);
  gate.LetIn();
  request.completion().WaitUntilReleased();
  EXPECT_TRUE(was_computed);
  backend.reset();
  EXPECT_EQ(gate.entered, 1);
  EXPECT_EQ(gate.left, 1);
}

}  // namespace
}  // namespace ferry
