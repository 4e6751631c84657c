// Tests schedulers under fire: many threads submit, cancel, read statistics and
// let deadlines pass, over models that fail and throw, until a drain, a loss of
// the device or the end of the scheduler. Every accepted call ends exactly once
// with its own rows or an error (G1); CountingCompletion says what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/device_instance.h"
#include "batcher/device_share.h"
#include "batcher/row_gather.h"
#include "batcher/scheduler.h"
#include "batcher/sim/simulated_model.h"
#include "tensor/host_output_pool.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

constexpr int kThreads = 3;

struct FleetOptions {
  int32_t instances = 2;
  int64_t fail_every = 11;
  int64_t throw_every = 17;
  Duration alpha = Milliseconds(0.05);
};

std::vector<std::unique_ptr<Instance>> MakeInstances(
    const FleetOptions& options) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (int32_t i = 0; i < options.instances; ++i) {
    auto model = SimulatedModel::Create(RowSpec(kAnySize),
                                        {.alpha = options.alpha,
                                         .beta = Milliseconds(0.005),
                                         .jitter = 0.5,
                                         .fail_every = options.fail_every,
                                         .throw_every = options.throw_every,
                                         .seed = static_cast<uint64_t>(i) + 1});
    auto instance = CpuInstance::Create(*std::move(model));
    EXPECT_TRUE(instance.ok()) << instance.status();
    instances.push_back(*std::move(instance));
  }
  return instances;
}

std::unique_ptr<Scheduler> MakeScheduler(
    std::vector<std::unique_ptr<Instance>> instances,
    const SchedulerOptions& options) {
  auto scheduler = Scheduler::Create(std::move(instances), options);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status();
  return *std::move(scheduler);
}

std::unique_ptr<Scheduler> MakeScheduler(const FleetOptions& fleet,
                                         const SchedulerOptions& options) {
  return MakeScheduler(MakeInstances(fleet), options);
}

// A device that repeats its input, fails now and then, and may be lost.
class EchoDevice final : public DeviceModel {
 public:
  // Lost after so many batches; 0: never.
  explicit EchoDevice(int lost_after) : lost_after_(lost_after) {}

  const ModelSpec& spec() const override { return spec_; }
  int32_t places() const override { return 3; }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  DeviceOutcome CopyIn(int32_t place, const Batch& batch) override {
    OutputRef& output = outputs_[static_cast<size_t>(place)];
    output = pool_.Take();
    HostOutputPool::Layout(*output.get(), 0, batch.rows(), spec_.inputs[0].type,
                           batch.row_dims(0));
    GatherRows(batch, 0, output->tensors()[0].data);
    return {};
  }
  DeviceOutcome Compute(int32_t place, const Batch&,
                        OutputRef& output) override {
    output = std::exchange(outputs_[static_cast<size_t>(place)], OutputRef());
    return {};
  }
  DeviceOutcome AwaitComputed(int32_t, DeviceTimes& times) override {
    times = {.copy_in = Duration(1000), .compute = Duration(1000)};
    ++batches_;
    if (lost_after_ > 0 && batches_ > lost_after_) {
      return {.outcome = {StatusCode::kInternal, "device fell off the bus"},
              .is_lost = true};
    }
    if (batches_ % 11 == 0) {
      return {.outcome = {StatusCode::kInternal, "device failed"}};
    }
    return {};
  }
  DeviceOutcome AwaitCopiedOut(int32_t) override { return {}; }

 private:
  const ModelSpec spec_ = RowSpec(kAnySize);
  const int lost_after_;
  int batches_ = 0;
  HostOutputPool pool_{1, 4};
  std::array<OutputRef, 3> outputs_;
};

std::vector<std::unique_ptr<Instance>> OnDevice(int lost_after) {
  std::vector<std::unique_ptr<Instance>> instances;
  auto instance =
      DeviceInstance::Create(std::make_unique<EchoDevice>(lost_after));
  EXPECT_TRUE(instance.ok()) << instance.status();
  instances.push_back(*std::move(instance));
  return instances;
}

// Calls of several threads, all used once, so that any thread may cancel any
// of them at any time.
class Fleet {
 public:
  Fleet(Scheduler& scheduler, int calls_per_thread) : scheduler_(scheduler) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> after(0, 49);
    const TimePoint now = Clock::Steady().Now();
    for (int id = 0; id < kThreads * calls_per_thread; ++id) {
      calls_.emplace_back(TestRequestOptions{
          .id = id,
          .rows = static_cast<int32_t>(random() % 4 + 1),
          .width = random() % 8 == 0 ? 2 : 1,
          .deadline = random() % 3 == 0 ? now + after(random) * Milliseconds(1)
                                        : kNever});
    }
    is_accepted_.resize(calls_.size());
  }

  // Each thread submits its calls, cancels some of all, looks at the
  // statistics, until all are submitted or the scheduler takes no more.
  void Launch() {
    for (size_t t = 0; t < kThreads; ++t) {
      threads_.emplace_back([this, t] { SubmitAll(t); });
    }
  }
  // Returns when that many calls were submitted. REQUIRES: none was refused
  // for good, so that they will be.
  void WaitForSubmitted(int count) const {
    for (int now = submitted_; now < count; now = submitted_) {
      submitted_.wait(now);
    }
  }
  void Join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  // Waits for the end of every accepted call and checks what it was told.
  void Check(std::vector<StatusCode> legal) {
    std::map<StatusCode, int> counts;
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (is_accepted_[i] == 0) {
        EXPECT_FALSE(calls_[i].completion().is_answered()) << "call " << i;
        continue;
      }
      calls_[i].completion().WaitUntilAnswered();
      const StatusCode code = calls_[i].code();
      ++counts[code];
      EXPECT_TRUE(code != StatusCode::kOk || calls_[i].HasOwnRows())
          << "call " << i << " got rows of another";
      EXPECT_NE(std::count(legal.begin(), legal.end(), code), 0)
          << "call " << i << ": " << calls_[i].completion().outcome().text;
      calls_[i].completion().DropOutput();
    }
    accepted_by_code_ = std::move(counts);
  }

  const std::map<StatusCode, int>& accepted_by_code() const {
    return accepted_by_code_;
  }

 private:
  void SubmitAll(size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (size_t i = thread; i < calls_.size(); i += kThreads) {
      const absl::Status status = scheduler_.Submit(calls_[i].request());
      is_accepted_[i] = status.ok() ? 1 : 0;
      submitted_ += 1;
      submitted_.notify_all();
      if (absl::IsUnavailable(status)) {
        return;
      }
      if (random() % 4 == 0) {
        scheduler_.Cancel(calls_[random() % calls_.size()].request());
      }
      if (random() % 64 == 0) {
        const SchedulerStatistics counts = scheduler_.Snapshot();
        EXPECT_GE(counts.queued_bytes, 0);
      }
      if (random() % 16 == 0) {
        std::this_thread::yield();
      }
    }
  }

  Scheduler& scheduler_;
  std::deque<TestRequest> calls_;
  std::vector<char> is_accepted_;  // each written by its thread
  std::atomic<int> submitted_{0};
  std::vector<std::thread> threads_;
  std::map<StatusCode, int> accepted_by_code_;
};

void ExpectCounted(const Scheduler& scheduler,
                   const std::map<StatusCode, int>& by_code) {
  const SchedulerStatistics counts = scheduler.Snapshot();
  for (const auto& [code, count] : by_code) {
    const auto index = static_cast<size_t>(code);
    const uint64_t counted = code == StatusCode::kOk
                                 ? counts.served.ok_requests()
                                 : counts.served.failed_requests[index].value();
    EXPECT_EQ(counted, static_cast<uint64_t>(count)) << "code " << index;
  }
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
}

const std::vector<StatusCode> kServed = {
    StatusCode::kOk, StatusCode::kCancelled, StatusCode::kDeadlineExceeded,
    StatusCode::kInternal};

TEST(Storm, EveryCallEndsOnceUnderEachPolicyAndShape) {
  const SchedulerOptions kOptions[] = {
      {.max_batch_size = 8},
      {.max_batch_size = 8,
       .policy = PolicyKind::kWindow,
       .max_wait = Milliseconds(0.5)},
      {.max_batch_size = 16,
       .max_requests_per_batch = 2,
       .max_undelivered_batches = 1},
      {.max_batch_size = 4, .queue = {.requests = 8, .rows = 16}},
      {.max_batch_size = 8,
       .buckets = {2, 8},
       .levels = {{.default_timeout = Milliseconds(0.2), .delays_late = true}}},
  };
  for (const SchedulerOptions& options : kOptions) {
    const auto scheduler = MakeScheduler(FleetOptions(), options);
    Fleet fleet(*scheduler, 400);
    fleet.Launch();
    fleet.Join();
    fleet.Check(kServed);
    EXPECT_GT(fleet.accepted_by_code().at(StatusCode::kOk), 0);
    EXPECT_TRUE(scheduler->Drain(kNever).ok());
    ExpectCounted(*scheduler, fleet.accepted_by_code());
  }
}

TEST(Storm, EveryCallEndsOnceOnADeviceWithBatchesInFlight) {
  const auto scheduler = MakeScheduler(OnDevice(0), {.max_batch_size = 4});
  Fleet fleet(*scheduler, 400);
  fleet.Launch();
  fleet.Join();
  fleet.Check(kServed);
  EXPECT_TRUE(scheduler->Drain(kNever).ok());
  ExpectCounted(*scheduler, fleet.accepted_by_code());
}

TEST(Storm, DrainUnderFireServesWhatWasAdmitted) {
  for (int round = 0; round < 20; ++round) {
    const auto scheduler = MakeScheduler(FleetOptions(), {.max_batch_size = 8});
    Fleet fleet(*scheduler, 300);
    fleet.Launch();
    fleet.WaitForSubmitted(20 * round);
    EXPECT_TRUE(scheduler->Drain(kNever).ok());
    fleet.Join();
    fleet.Check(kServed);
    ExpectCounted(*scheduler, fleet.accepted_by_code());
  }
}

TEST(Storm, DrainThatGivesUpAnswersWhatIsQueued) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    const auto scheduler =
        MakeScheduler(FleetOptions{.instances = 1}, {.max_batch_size = 2});
    Fleet fleet(*scheduler, 100);
    fleet.Launch();
    fleet.WaitForSubmitted(10 * round);
    const absl::Status drained =
        scheduler->Drain(Clock::Steady().Now() + Milliseconds(0.5));
    EXPECT_TRUE(drained.ok() || absl::IsDeadlineExceeded(drained)) << drained;
    fleet.Join();
    fleet.Check(legal);
  }
}

TEST(Storm, DestructionEndsWhatIsQueuedAndRunning) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    auto scheduler = MakeScheduler(
        FleetOptions(), {.max_batch_size = 4, .max_undelivered_batches = 1});
    Fleet fleet(*scheduler, 40);
    fleet.Launch();
    fleet.Join();
    scheduler.reset();
    fleet.Check(legal);
  }
}

TEST(Storm, LossOfTheDeviceEndsEveryCall) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    const auto scheduler =
        MakeScheduler(OnDevice(round), {.max_batch_size = 4});
    Fleet fleet(*scheduler, 100);
    fleet.Launch();
    fleet.Join();
    fleet.Check(legal);
    EXPECT_TRUE(scheduler->Drain(kNever).ok());
  }
}

TEST(Storm, SeveralModelsShareADeviceByWeight) {
  DeviceShare device(1);
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::deque<Fleet> fleets;
  for (int i = 0; i < 3; ++i) {
    SchedulerOptions options = {.max_batch_size = 8};
    options.device = &device;
    options.weight = 1 + i;
    schedulers.push_back(
        i < 2 ? MakeScheduler(FleetOptions{.instances = 1 + i}, options)
              : MakeScheduler(OnDevice(0), options));
    fleets.emplace_back(*schedulers.back(), 100);
  }
  for (Fleet& fleet : fleets) {
    fleet.Launch();
  }
  for (Fleet& fleet : fleets) {
    fleet.Join();
    fleet.Check(kServed);
  }
}

// Respond() submits the next call from the thread it came on.
TEST(Storm, CallsThatSubmitEachOtherAllEnd) {
  constexpr int kChains = 4;
  constexpr int kLinks = 150;
  std::deque<TestRequest> calls;
  const auto scheduler = MakeScheduler(FleetOptions(), {.max_batch_size = 4});
  for (int i = 0; i < kChains * kLinks; ++i) {
    TestRequest& call =
        calls.emplace_back(TestRequestOptions{.id = i, .rows = i % 3 + 1});
    if (i >= kChains) {
      TestRequest& earlier = calls[static_cast<size_t>(i - kChains)];
      earlier.completion().on_respond = [&scheduler, &call] {
        EXPECT_TRUE(scheduler->Submit(call.request()).ok());
        if (call.id() % 5 == 0) {
          scheduler->Cancel(call.request());
        }
      };
    }
  }
  for (int i = 0; i < kChains; ++i) {
    EXPECT_TRUE(
        scheduler->Submit(calls[static_cast<size_t>(i)].request()).ok());
  }
  for (TestRequest& call : calls) {
    call.completion().WaitUntilAnswered();
  }
}

}  // namespace
}  // namespace ferry
