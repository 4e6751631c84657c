// ScriptedModel is a ServedModel with the test's own clock, instances and
// timer.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_
#define FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "models/repository/served_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_instances.h"
#include "tests/support/test_request.h"

namespace ferry {

class ScriptedModel {
 public:
  // Echoes 'x' INT64 [1] as 'y'. The instances' spec and clock are this one's.
  explicit ScriptedModel(const std::string& name, int64_t version = 1,
                         SchedulerOptions options = {},
                         ScriptedInstancesOptions instances = {}) {
    model_.name = name;
    model_.version = version;
    model_.platform = "ferry_echo";
    model_.spec = RowSpec();
    model_.spec.max_batch_size = options.max_batch_size;
    model_.config.set_name(name);
    instances.spec = model_.spec;
    instances.clock = &clock_;
    instances_ = std::make_unique<ScriptedInstances>(instances);
    options.clock = &clock_;
    auto scheduler = Scheduler::Create(instances_->pulled(), options);
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    model_.scheduler = *std::move(scheduler);
    instances_->Attach(*model_.scheduler);
  }
  ~ScriptedModel() {
    model_.scheduler->BeginDrain();
    instances_->CompleteAll();
  }

  const ServedModel& model() const { return model_; }
  Scheduler& scheduler() { return *model_.scheduler; }
  ScriptedInstances& instances() { return *instances_; }
  FakeClock& clock() { return clock_; }

  // Lets the timer look and the instances pull, due or not.
  void Step() {
    model_.scheduler->LookAtQueue();
    instances_->Pull();
  }

 private:
  FakeClock clock_;
  std::unique_ptr<ScriptedInstances> instances_;
  ServedModel model_;  // goes before the instances its scheduler names
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_SCRIPTED_MODEL_H_
