// SteppedScheduler is a Scheduler with the test's own clock, instances and
// timer.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SUPPORT_STEPPED_SCHEDULER_H_
#define FERRY_TESTS_SUPPORT_STEPPED_SCHEDULER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "batcher/scheduler.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_instances.h"
#include "tests/support/test_request.h"

namespace ferry {

// SteppedScheduler sets the clocks in them.
struct SteppedSchedulerOptions {
  SchedulerOptions scheduler = {};
  ScriptedInstancesOptions instances = {.spec = RowSpec()};
};

class SteppedScheduler {
 public:
  explicit SteppedScheduler(SteppedSchedulerOptions options = {}) {
    options.instances.clock = &clock_;
    options.scheduler.clock = &clock_;
    instances_ = std::make_unique<ScriptedInstances>(options.instances);
    auto scheduler = Scheduler::Create(instances_->pulled(), options.scheduler);
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    scheduler_ = *std::move(scheduler);
    calls_ = scheduler_.get();
    instances_->Attach(*calls_);
  }
  ~SteppedScheduler() { Destroy(); }

  FakeClock& clock() { return clock_; }
  const FakeClock& clock() const { return clock_; }
  Scheduler& scheduler() { return *calls_; }
  ScriptedInstances& instances() { return *instances_; }
  const ScriptedInstances& instances() const { return *instances_; }

  absl::Status TrySubmit(TestRequest& request) {
    return calls_->Submit(request.request());
  }
  void Submit(TestRequest& request) {
    const absl::Status status = TrySubmit(request);
    EXPECT_TRUE(status.ok()) << status;
  }
  void Cancel(TestRequest& request) { calls_->Cancel(request.request()); }

  // Lets the timer look and the instances pull, due or not. Returns what they
  // wait for.
  Wait Step() {
    calls_->LookAtQueue();
    instances_->Pull();
    return {.until = next_step(), .wake_at_rows = calls_->NotifyAtRows()};
  }

  // Lets the timer and the instances do what their threads would do now.
  // Returns when the next of them has something to do unless notified.
  TimePoint StepWhatIsDue() {
    do {
      if (IsTimerDue()) {
        calls_->LookAtQueue();
      }
    } while (instances_->PullWhatIsDue() || IsTimerDue());
    return next_step();
  }
  // When a thread has something to do unless it is notified.
  TimePoint next_step() const {
    return std::min(calls_->look_at(), instances_->pull_at());
  }
  bool IsStepDue() const { return IsTimerDue() || instances_->IsPullDue(); }

  // Lets the instances finish and the scheduler answer until nothing runs.
  void Settle() {
    do {
      instances_->CompleteAll();
      Step();
    } while (instances_->running_count() > 0);
  }

  // Completes what runs and ends the scheduler. Requests that are answered
  // meanwhile may still submit and cancel.
  void Destroy() {
    if (scheduler_ != nullptr) {
      calls_->BeginDrain();
      instances_->CompleteAll();
      scheduler_.reset();
    }
  }

 private:
  bool IsTimerDue() const { return clock_.Now() >= calls_->look_at(); }

  FakeClock clock_;
  std::unique_ptr<ScriptedInstances> instances_;
  std::unique_ptr<Scheduler> scheduler_;
  Scheduler* calls_ = nullptr;  // scheduler_, also while that is destroyed
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_STEPPED_SCHEDULER_H_
