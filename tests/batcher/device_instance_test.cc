// Tests that DeviceInstance keeps its guarantees over a device that has several
// batches in flight, fails in any step, or is lost.
#include "batcher/device_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "batcher/device_share.h"
#include "tests/batcher/scripted_models.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

std::unique_ptr<Scheduler> ServeDevice(
    int32_t max_in_flight, ScriptedDeviceModel::Script script = nullptr,
    const SchedulerOptions& options = {.max_requests_per_batch = 1}) {
  return Serve(std::make_unique<ScriptedDeviceModel>(max_in_flight + 1,
                                                     std::move(script)),
               options);
}

void SubmitAndWait(Scheduler& scheduler, TestRequest& request) {
  ASSERT_TRUE(scheduler.Submit(request.request()).ok());
  request.completion().WaitUntilAnswered();
}

TEST(DeviceInstance, StartsTheNextBatchesBeforeTheFirstIsComputed) {
  std::latch all_started(3);
  TestRequest requests[3];
  auto scheduler =
      ServeDevice(3, [&](DeviceStep step, int32_t) -> DeviceOutcome {
        if (step == DeviceStep::kCompute) {
          all_started.count_down();
        } else if (step == DeviceStep::kComputed) {
          all_started.wait();  // for ever, if the next ones waited for this one
        }
        return {};
      });
  for (TestRequest& request : requests) {
    ASSERT_TRUE(scheduler->Submit(request.request()).ok());
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilAnswered();
    EXPECT_EQ(request.code(), StatusCode::kOk);
  }
}

TEST(DeviceInstance, PlacesAreUsedInTurn) {
  std::vector<int32_t> places;
  TestRequest requests[5];
  auto scheduler =
      ServeDevice(2, [&](DeviceStep step, int32_t place) -> DeviceOutcome {
        if (step == DeviceStep::kCopyIn) {
          places.push_back(place);
        }
        return {};
      });
  for (TestRequest& request : requests) {
    SubmitAndWait(*scheduler, request);
  }
  scheduler.reset();
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 0, 1));
}

TEST(DeviceInstance, TimesAreTheDevices) {
  TestRequest request;
  auto scheduler = ServeDevice(2);
  SubmitAndWait(*scheduler, request);
  const SchedulerStatistics counted = scheduler->Snapshot();
  EXPECT_EQ(counted.served.compute.sum(), 3'000'000u);
  ASSERT_EQ(counted.busy.size(), 1u);
  EXPECT_EQ(counted.busy[0], Milliseconds(3));
}

class DeviceInstanceStep : public ::testing::TestWithParam<DeviceStep> {};

TEST_P(DeviceInstanceStep, ThatFailsOrThrowsFailsOnlyItsBatch) {
  std::array<int, 4> counts{};
  TestRequest requests[3];
  auto scheduler =
      ServeDevice(2, [&](DeviceStep step, int32_t) -> DeviceOutcome {
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
  for (TestRequest& request : requests) {
    SubmitAndWait(*scheduler, request);
  }
  EXPECT_EQ(requests[0].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[0].completion().outcome().text, "device said no");
  EXPECT_EQ(requests[1].code(), StatusCode::kInternal);
  EXPECT_STREQ(requests[1].completion().outcome().text,
               "model failed on this batch");
  EXPECT_EQ(requests[2].code(), StatusCode::kOk);
  EXPECT_FALSE(scheduler->is_device_lost());
}

TEST_P(DeviceInstanceStep, ThatLosesTheDeviceFailsAllThatFollowsUntouched) {
  std::atomic<int> touched{0};  // after it was lost
  std::atomic<bool> is_lost{false};
  TestRequest first;
  auto scheduler =
      ServeDevice(2, [&](DeviceStep step, int32_t) -> DeviceOutcome {
        touched += is_lost ? 1 : 0;
        if (step != GetParam()) {
          return {};
        }
        is_lost = true;
        return {.outcome = {StatusCode::kInternal, "device is gone"},
                .is_lost = true};
      });
  SubmitAndWait(*scheduler, first);
  EXPECT_EQ(first.code(), StatusCode::kInternal);
  EXPECT_STREQ(first.completion().outcome().text, "device is gone");
  EXPECT_TRUE(scheduler->is_device_lost()) << "known when the first is told";
  TestRequest next;
  EXPECT_EQ(scheduler->Submit(next.request()).code(), StatusCode::kUnavailable);
  scheduler.reset();
  EXPECT_EQ(touched, 0);
}

std::string NameOf(const ::testing::TestParamInfo<DeviceStep>& its) {
  switch (its.param) {
    case DeviceStep::kCopyIn:
      return "CopyIn";
    case DeviceStep::kCompute:
      return "Compute";
    case DeviceStep::kComputed:
      return "Computed";
    default:
      return "CopiedOut";
  }
}

INSTANTIATE_TEST_SUITE_P(EachStep, DeviceInstanceStep,
                         ::testing::Values(DeviceStep::kCopyIn,
                                           DeviceStep::kCompute,
                                           DeviceStep::kComputed,
                                           DeviceStep::kCopiedOut),
                         NameOf);

TEST(DeviceInstance, OutputOfABatchThatFailedIsWaitedForAndItsTimeCounted) {
  TestRequest request;
  int waited = 0;
  auto scheduler =
      ServeDevice(2, [&](DeviceStep step, int32_t) -> DeviceOutcome {
        if (step == DeviceStep::kCopiedOut) {
          ++waited;
        }
        return step == DeviceStep::kComputed
                   ? DeviceOutcome{.outcome = {StatusCode::kInternal, "no"}}
                   : DeviceOutcome{};
      });
  SubmitAndWait(*scheduler, request);
  EXPECT_EQ(request.code(), StatusCode::kInternal);
  EXPECT_EQ(waited, 1) << "the device may have been writing it";
  EXPECT_GT(scheduler->Snapshot().busy[0], Duration(0)) << "it had the device";
}

TEST(DeviceInstance, WhatWasInFlightAndQueuedWhenTheDeviceWasLostFailsToo) {
  std::latch both_started(2);
  std::latch all_are_in(1);
  TestRequest requests[4];
  auto scheduler =
      ServeDevice(2, [&](DeviceStep step, int32_t) -> DeviceOutcome {
        if (step == DeviceStep::kCompute) {
          both_started.count_down();
        } else if (step == DeviceStep::kComputed) {
          both_started.wait();
          all_are_in.wait();
          return {.outcome = {StatusCode::kInternal, "device is gone"},
                  .is_lost = true};
        }
        return {};
      });
  for (TestRequest& request : requests) {
    ASSERT_TRUE(scheduler->Submit(request.request()).ok());
  }
  all_are_in.count_down();
  for (TestRequest& request : requests) {
    request.completion().WaitUntilAnswered();
  }
  EXPECT_STREQ(requests[0].completion().outcome().text, "device is gone");
  EXPECT_STREQ(requests[1].completion().outcome().text, "device is gone");
  EXPECT_EQ(requests[2].code(), StatusCode::kUnavailable);
  EXPECT_EQ(requests[3].code(), StatusCode::kUnavailable);
}

TEST(DeviceInstance, ManyBatchesAreEachAnsweredOnce) {
  constexpr int kBatches = 500;
  std::vector<std::unique_ptr<TestRequest>> requests;
  auto scheduler = ServeDevice(3);
  for (int i = 0; i < kBatches; ++i) {
    requests.push_back(std::make_unique<TestRequest>());
    ASSERT_TRUE(scheduler->Submit(requests.back()->request()).ok());
  }
  EXPECT_TRUE(scheduler->Drain(kNever).ok());
  for (const auto& request : requests) {
    EXPECT_EQ(request->completion().respond_count(), 1);
  }
}

TEST(DeviceInstance, SharedDeviceHasAsManyBatchesAsPermits) {
  DeviceShare device(1);
  std::atomic<int> computing{0};
  std::atomic<int> most{0};
  const auto script = [&](DeviceStep step, int32_t) -> DeviceOutcome {
    if (step == DeviceStep::kCompute) {
      most = std::max(most.load(), ++computing);
    } else if (step == DeviceStep::kComputed) {
      --computing;
    }
    return {};
  };
  SchedulerOptions options = {.max_requests_per_batch = 1};
  options.device = &device;
  TestRequest requests[3][50];
  auto one = ServeDevice(2, script, options);
  auto other = ServeDevice(2, script, options);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(one->Submit(requests[0][i].request()).ok());
    ASSERT_TRUE(other->Submit(requests[1][i].request()).ok());
    ASSERT_TRUE(one->Submit(requests[2][i].request()).ok());
  }
  for (auto& some : requests) {
    for (TestRequest& request : some) {
      request.completion().WaitUntilAnswered();
    }
  }
  EXPECT_EQ(most, 1);
}

TEST(DeviceInstance, ModelThatDoesNotWarmUpDoesNotServe) {
  auto model = std::make_unique<ScriptedDeviceModel>(3);
  model->warm_up = absl::FailedPreconditionError("no kernel for this device");
  const auto instance = DeviceInstance::Create(std::move(model));
  EXPECT_EQ(instance.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(instance.status().message(), "no kernel for this device");
}

}  // namespace
}  // namespace ferry
