// Tests that CpuInstance keeps its guarantees where models fail, throw or wait.
#include "batcher/cpu_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/sim/echo_model.h"
#include "tests/batcher/scripted_models.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

void SubmitAndWait(Scheduler& scheduler, TestRequest& request) {
  ASSERT_TRUE(scheduler.Submit(request.request()).ok());
  request.completion().WaitUntilAnswered();
}

TEST(CpuInstance, ModelThatFailsOrThrowsFailsOnlyItsBatch) {
  int count = 0;
  TestRequest requests[4];
  auto scheduler = Serve(OneModel([&count](const Batch&) -> Outcome {
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
  }));
  for (TestRequest& request : requests) {
    SubmitAndWait(*scheduler, request);
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[0].completion().outcome().text, "model said no");
  EXPECT_EQ(requests[1].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[2].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[3].code(), StatusCode::kOk);
}

TEST(CpuInstance, BatchThatCannotBeGatheredIsNotComputed) {
  auto model = std::make_unique<ScriptedCpuModel>([](const Batch&) -> Outcome {
    ADD_FAILURE() << "computed what was not gathered";
    return {};
  });
  int count = 0;
  model->on_gather = [&count](const Batch&) -> Outcome {
    if (++count == 1) {
      throw std::runtime_error("gather threw");
    }
    return {StatusCode::kInvalidArgument, "gather said no"};
  };
  TestRequest requests[2];
  auto scheduler = Serve(OneModel(std::move(model)));
  for (TestRequest& request : requests) {
    SubmitAndWait(*scheduler, request);
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_EQ(requests[1].code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(scheduler->Snapshot().queued_bytes, 0)
      << "counted until the compute's end, also where there was none";
}

TEST(CpuInstance, ModelThatGivesNoOutputFailsItsBatch) {
  auto model = std::make_unique<ScriptedCpuModel>();
  model->gives_output = false;
  TestRequest request;
  auto scheduler = Serve(OneModel(std::move(model)));
  SubmitAndWait(*scheduler, request);
  EXPECT_EQ(request.code(), StatusCode::kInternal);
}

// Gives each request its own rows, and fails where `is_poisoned` holds for one
// of the batch.
class PoisonedModel final : public EchoModel {
 public:
  explicit PoisonedModel(std::function<bool(int64_t id)> is_poisoned)
      : EchoModel(RowSpec()), is_poisoned_(std::move(is_poisoned)) {}

  Outcome Compute(const Batch& batch, OutputRef& output) override {
    for (const Batch::Entry& entry : batch.entries()) {
      if (is_poisoned_(IdOf(*entry.request))) {
        return {StatusCode::kInternal, "poisoned", 7};
      }
    }
    return EchoModel::Compute(batch, output);
  }

 private:
  const std::function<bool(int64_t)> is_poisoned_;
};

// Requests 0 to count - 1, each of one row, which leave as one batch.
class OneBatch {
 public:
  explicit OneBatch(int count, SchedulerOptions options = {})
      : options_(std::move(options)) {
    for (int id = 0; id < count; ++id) {
      requests.push_back(
          std::make_unique<TestRequest>(TestRequestOptions{.id = id}));
    }
    options_.max_batch_size = count;
    options_.policy = PolicyKind::kWindow;
    options_.max_wait = std::chrono::seconds(60);
  }

  // Serves them, and returns the scheduler's counts.
  SchedulerStatistics Serve(std::unique_ptr<CpuModel> model) {
    auto scheduler = ferry::Serve(OneModel(std::move(model)), options_);
    for (const auto& request : requests) {
      EXPECT_TRUE(scheduler->Submit(request->request()).ok());
    }
    for (const auto& request : requests) {
      request->completion().WaitUntilAnswered();
    }
    EXPECT_TRUE(scheduler->Drain(kNever).ok());
    return scheduler->Snapshot();
  }

  std::vector<std::unique_ptr<TestRequest>> requests;

 private:
  SchedulerOptions options_;
};

TEST(CpuInstance, PoisonedRequestsFailAloneWhereverTheyStand) {
  for (const int count : {2, 3, 8, 13}) {
    for (int poisoned = 0; poisoned < count; ++poisoned) {
      OneBatch batch(count);
      const SchedulerStatistics counts =
          batch.Serve(std::make_unique<PoisonedModel>(
              [=](int64_t id) { return id == poisoned; }));
      for (const auto& request : batch.requests) {
        EXPECT_EQ(request->HasOwnRows(), request->id() != poisoned)
            << request->id() << " of " << count << ", " << poisoned;
      }
      const Outcome& told =
          batch.requests[static_cast<size_t>(poisoned)]->completion().outcome();
      EXPECT_EQ(told.code, StatusCode::kInternal);
      EXPECT_EQ(told.reason, 7u);
      EXPECT_EQ(counts.served.ok_requests(), static_cast<uint64_t>(count - 1));
      EXPECT_EQ(counts.served.ok_rows.value(),
                static_cast<uint64_t>(count - 1));
      EXPECT_EQ(counts.served
                    .failed_requests[static_cast<size_t>(StatusCode::kInternal)]
                    .value(),
                1u);
      EXPECT_GE(counts.served.reruns.value(), 2u);
      EXPECT_EQ(counts.queued_bytes, 0);
    }
  }
}

TEST(CpuInstance, ResultsNameTheirBatchAlsoWhereItIsRunAgain) {
  SchedulerOptions options;
  options.max_batch_size = 2;
  options.policy = PolicyKind::kWindow;
  options.max_wait = std::chrono::seconds(60);
  auto scheduler = ferry::Serve(OneModel(std::make_unique<PoisonedModel>(
                                    [](int64_t id) { return id == 3; })),
                                options);
  std::vector<std::unique_ptr<TestRequest>> requests;
  for (int id = 0; id < 4; ++id) {
    requests.push_back(
        std::make_unique<TestRequest>(TestRequestOptions{.id = id}));
    ASSERT_TRUE(scheduler->Submit(requests.back()->request()).ok());
  }
  for (const auto& request : requests) {
    request->completion().WaitUntilAnswered();
  }
  EXPECT_EQ(requests[0]->completion().batch(), 0);
  EXPECT_EQ(requests[1]->completion().batch(), 0);
  EXPECT_EQ(requests[2]->completion().batch(), 1) << "it ran again, alone";
  EXPECT_EQ(requests[3]->completion().batch(), 1);
}

TEST(CpuInstance, SeveralPoisonedRequestsFailAndNoOthers) {
  OneBatch batch(16);
  const auto is_poisoned = [](int64_t id) { return id == 3 || id == 11; };
  batch.Serve(std::make_unique<PoisonedModel>(is_poisoned));
  for (const auto& request : batch.requests) {
    EXPECT_EQ(request->HasOwnRows(), !is_poisoned(request->id()));
  }
}

TEST(CpuInstance, OrderIsPreservedWhereABatchIsRunAgain) {
  OneBatch batch(8, {.preserve_ordering = true});
  std::vector<int64_t> told;
  for (const auto& request : batch.requests) {
    request->completion().on_respond = [&told, id = request->id()] {
      told.push_back(id);
    };
  }
  batch.Serve(
      std::make_unique<PoisonedModel>([](int64_t id) { return id == 2; }));
  EXPECT_THAT(told, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(CpuInstance, BatchOfOneRequestOrOfAnotherFailureIsNotRunAgain) {
  OneBatch one(1);
  EXPECT_EQ(
      one.Serve(std::make_unique<PoisonedModel>([](int64_t) { return true; }))
          .served.reruns.value(),
      0u);
  OneBatch two(2);
  const SchedulerStatistics counts =
      two.Serve(std::make_unique<ScriptedCpuModel>([](const Batch&) -> Outcome {
        return {StatusCode::kResourceExhausted, "no memory"};
      }));
  EXPECT_EQ(counts.served.reruns.value(), 0u);
  EXPECT_EQ(two.requests[0]->code(), StatusCode::kResourceExhausted);
}

TEST(CpuInstance, ModelThatAlwaysFailsIsRunAgainForASecondInAll) {
  OneBatch batch(2);
  int64_t runs = 0;
  const auto compute = [&runs](const Batch&) -> Outcome {
    ++runs;
    const TimePoint until = Clock::Steady().Now() + RerunCredit::kMost;
    while (runs == 2 && Clock::Steady().Now() < until) {  // uses it all up
    }
    return {StatusCode::kInternal, "broken"};
  };
  auto scheduler = Serve(OneModel(compute), {.max_batch_size = 2,
                                             .policy = PolicyKind::kWindow,
                                             .max_wait = Milliseconds(60'000)});
  for (int round = 0; round < 3; ++round) {
    for (const auto& request : batch.requests) {
      request->Reset();
      ASSERT_TRUE(scheduler->Submit(request->request()).ok());
    }
    for (const auto& request : batch.requests) {
      request->completion().WaitUntilAnswered();
      EXPECT_EQ(request->code(), StatusCode::kInternal);
    }
  }
  EXPECT_EQ(runs, 3 + 2) << "the first alone was halved";
  EXPECT_EQ(scheduler->Snapshot().served.reruns.value(), 2u);
}

TEST(RerunCredit, IsAQuarterOfTheTimeThatSucceeded) {
  RerunCredit credit;
  EXPECT_TRUE(credit.Covers(RerunCredit::kMost));
  EXPECT_FALSE(credit.Covers(RerunCredit::kMost + Duration(1)));
  credit.RanAgain(2 * RerunCredit::kMost);
  EXPECT_FALSE(credit.Covers(Duration(0)));
  credit.Succeeded(4 * RerunCredit::kMost);
  EXPECT_FALSE(credit.Covers(Duration(1)))
      << "what was overdrawn is paid back first";
  credit.Succeeded(Milliseconds(4));
  EXPECT_TRUE(credit.Covers(Milliseconds(1)));
  EXPECT_FALSE(credit.Covers(Milliseconds(2)));
}

TEST(RerunCredit, IsSavedUpToItsBound) {
  RerunCredit credit;
  credit.Succeeded(std::chrono::hours(1));
  credit.RanAgain(RerunCredit::kMost);
  EXPECT_FALSE(credit.Covers(Duration(1)));
}

TEST(CpuInstance, ErrorOrExceptionOfTheWarmUpIsCreatesError) {
  const std::function<absl::Status()> kWarmUps[] = {
      [] { return absl::NotFoundError("no weights"); },
      []() -> absl::Status { throw std::runtime_error("no weights"); },
      []() -> absl::Status { throw 42; },  // NOLINT
  };
  for (const auto& warm_up : kWarmUps) {
    auto model = std::make_unique<ScriptedCpuModel>();
    model->on_warm_up = warm_up;
    EXPECT_FALSE(CpuInstance::Create(std::move(model)).ok());
  }
}

TEST(CpuInstance, IsWarmedUpOnTheThreadThatComputes) {
  std::thread::id warmed_on;
  std::thread::id computed_on;
  auto model = std::make_unique<ScriptedCpuModel>([&](const Batch&) -> Outcome {
    computed_on = std::this_thread::get_id();
    return {};
  });
  model->on_warm_up = [&] {
    warmed_on = std::this_thread::get_id();
    return absl::OkStatus();
  };
  TestRequest request;
  auto scheduler = Serve(OneModel(std::move(model)));
  EXPECT_NE(warmed_on, std::thread::id());
  SubmitAndWait(*scheduler, request);
  scheduler.reset();
  EXPECT_EQ(computed_on, warmed_on);
  EXPECT_NE(computed_on, std::this_thread::get_id());
}

TEST(CpuInstance, InstancesComputeAtTheSameTime) {
  // Each waits for the other: one instance alone would never end.
  std::latch both_compute(2);
  std::vector<std::unique_ptr<CpuModel>> models;
  for (int i = 0; i < 2; ++i) {
    models.push_back(
        std::make_unique<ScriptedCpuModel>([&](const Batch&) -> Outcome {
          both_compute.arrive_and_wait();
          return {};
        }));
  }
  TestRequest requests[2];
  auto scheduler = Serve(std::move(models));
  for (TestRequest& request : requests) {
    ASSERT_TRUE(scheduler->Submit(request.request()).ok());
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilAnswered();
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
}

TEST(CpuInstance, ThreadThatComputesDelivers) {
  std::thread::id computed_on;
  std::thread::id delivered_on;
  TestRequest request;
  request.completion().on_respond = [&] {
    delivered_on = std::this_thread::get_id();
  };
  auto scheduler = Serve(OneModel([&](const Batch&) -> Outcome {
    computed_on = std::this_thread::get_id();
    return {};
  }));
  SubmitAndWait(*scheduler, request);
  scheduler.reset();
  EXPECT_EQ(computed_on, delivered_on);
}

TEST(CpuInstance, LongBatchLeavesNoTimeToReply) {
  TestRequest request;
  auto scheduler = Serve(OneModel([&](const Batch&) -> Outcome {
    const TimePoint begin = Clock::Steady().Now();
    while (Clock::Steady().Now() - begin < std::chrono::microseconds(400)) {
    }
    return {};
  }));
  SubmitAndWait(*scheduler, request);
  EXPECT_FALSE(request.completion().has_time());
}

TEST(CpuInstance, ShortBatchLeavesTimeToReply) {
  auto scheduler = Serve(OneModel([](const Batch&) -> Outcome { return {}; }));
  bool had_time = false;
  for (int i = 0; i < 1000 && !had_time; ++i) {  // one may be interrupted
    TestRequest request;
    SubmitAndWait(*scheduler, request);
    had_time = request.completion().has_time();
  }
  EXPECT_TRUE(had_time);
}

TEST(CpuInstance, ThatWasNeverStartedEnds) {
  auto instance = CpuInstance::Create(std::make_unique<ScriptedCpuModel>());
  EXPECT_TRUE(instance.ok());
}

TEST(CpuInstance, WaitsForItsTurnAtASharedDevice) {
  DeviceShare device(1);
  std::atomic<int> computing{0};
  std::atomic<int> most{0};
  const auto compute = [&](const Batch&) -> Outcome {
    most = std::max(most.load(), ++computing);
    std::this_thread::yield();
    --computing;
    throw std::runtime_error("a failed batch gives the device back, too");
  };
  TestRequest requests[2][20];
  SchedulerOptions options = {.max_requests_per_batch = 1};
  options.device = &device;
  auto one = Serve(OneModel(compute), options);
  auto other = Serve(OneModel(compute), options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(one->Submit(requests[0][i].request()).ok());
    ASSERT_TRUE(other->Submit(requests[1][i].request()).ok());
  }
  for (auto& of_one : requests) {
    for (TestRequest& request : of_one) {
      request.completion().WaitUntilAnswered();
    }
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace ferry
