// Implements SharedModels: what happens to them, and what is checked.
#include "tests/fuzz/shared_models.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ferry {
namespace {

using absl::StatusCode;

constexpr Outcome kFailed = {StatusCode::kInternal, "batch failed"};
// Turns in which threads come to rest, and a drain to its end.
constexpr int kManyTurns = 10'000;

}  // namespace

SharedModels::SharedModels(Choices& choices)
    : choices_(choices), permits_(Number(1, 3)), device_(permits_) {
  for (Model& model : models_) {
    Load(model);
  }
}

void SharedModels::Load(Model& model) {
  constexpr PolicyKind kPolicies[] = {PolicyKind::kEager, PolicyKind::kWindow,
                                      PolicyKind::kAdaptive};
  SteppedSchedulerOptions options;
  SchedulerOptions& scheduler = options.scheduler;
  scheduler.max_batch_size = Number(1, 8);
  scheduler.policy = kPolicies[Number(0, 2)];
  scheduler.max_wait = Milliseconds(Number(0, 4));
  scheduler.levels.resize(static_cast<size_t>(Number(1, kLevels)));
  scheduler.max_undelivered_batches = Number(1, 3);
  scheduler.weight = Number(1, 4);
  scheduler.device = &device_;
  options.instances.count = Number(1, 2);
  options.instances.max_in_flight = Number(1, 2);
  model.is_unloaded = false;
  model.stepped = std::make_unique<SteppedScheduler>(options);
  model.stepped->clock().Advance(passed_);
  model.stepped->instances().on_start = [this, &model](const Batch& batch) {
    OnStart(model, batch);
  };
}

void SharedModels::Unload(Model& model) {
  model.is_unloaded = true;
  model.stepped->Destroy();
  EXPECT_TRUE(IsAnswered(model)) << "a model goes before its requests";
  model.stepped.reset();
}

void SharedModels::Run(int actions) {
  for (int i = 0; i < actions && !choices_.is_over(); ++i) {
    Act();
    if (!choices_.OneIn(4)) {
      Step();
      CheckAtRest();
    }
  }
  Drain();
}

void SharedModels::Act() {
  Model& model = AnyModel();
  switch (choices_.Pick({350, 0, 80, 370, 150, 20, 20})) {
    case 0:
    case 1:
      return Submit(model);
    case 2:
      if (!model.calls.empty()) {
        Call& call = model.calls[static_cast<size_t>(
            choices_.Uniform(0, std::ssize(model.calls) - 1))];
        call.is_cancelled = true;
        model.stepped->Cancel(call.test);
      }
      return;
    case 3:
      return MoveBatch(model);
    case 4:
      return Advance(Duration(choices_.Uniform(0, 40) * 50'000));
    case 5:
      return ChangeOptions(model);
    default:
      Unload(model);
      Load(model);
  }
}

void SharedModels::Submit(Model& model) {
  const SchedulerOptions& options = model.stepped->scheduler().options();
  TestRequestOptions drawn{.id = std::ssize(model.calls)};
  drawn.rows =
      choices_.OneIn(3) ? Number(1, 3 * int64_t{options.max_batch_size}) : 1;
  drawn.level = Number(0, std::ssize(options.levels) - 1);
  if (choices_.OneIn(4)) {
    drawn.deadline = model.stepped->clock().Now() +
                     Duration(choices_.Uniform(0, 100) * 100'000);
  }
  Call& call = model.calls.emplace_back(drawn);
  call.test.completion().on_respond = [&model, &call] {
    OnRespond(model, call);
  };
  call.is_accepted = true;
  call.is_accepted = model.stepped->TrySubmit(call.test).ok();
}

// An instance's batches compute in their order, and are delivered in any.
void SharedModels::MoveBatch(Model& model) {
  ScriptedInstances& instances = model.stepped->instances();
  if (instances.running_count() == 0) {
    return;
  }
  auto index = static_cast<size_t>(
      Number(0, static_cast<int64_t>(instances.running_count()) - 1));
  for (size_t i = 0; i < index; ++i) {
    if (instances.instance(i) == instances.instance(index) &&
        !instances.is_computed(i)) {
      index = i;
    }
  }
  const bool fails = choices_.OneIn(8);
  model.has_failed = model.has_failed || fails;
  instances.Advance(index, fails ? kFailed : Outcome{});
}

void SharedModels::ChangeOptions(Model& model) {
  RuntimeOptions options = model.stepped->scheduler().runtime_options();
  options.max_batch_size =
      Number(1, model.stepped->scheduler().options().max_batch_size);
  options.policy = static_cast<PolicyKind>(Number(0, 2));
  options.max_wait = Milliseconds(Number(0, 4));
  EXPECT_TRUE(model.stepped->scheduler().SetRuntimeOptions(options).ok());
}

void SharedModels::Advance(Duration by) {
  passed_ += by;
  for (Model& model : models_) {
    model.stepped->clock().Advance(by);
  }
}

void SharedModels::Step() {
  const auto is_due = [](const Model& model) {
    return model.stepped->IsStepDue();
  };
  for (int turn = 0; std::any_of(models_.begin(), models_.end(), is_due);
       ++turn) {
    ASSERT_LT(turn, kManyTurns) << "threads never rest";
    for (Model& model : models_) {
      model.stepped->StepWhatIsDue();
    }
  }
}

// Time passes only where nothing else happens.
void SharedModels::Drain() {
  for (Model& model : models_) {
    model.stepped->scheduler().BeginDrain();
  }
  for (int turn = 0; !std::all_of(models_.begin(), models_.end(), IsAnswered);
       ++turn) {
    ASSERT_LT(turn, kManyTurns) << "a drain does not end";
    Step();
    TimePoint next = kNever;
    bool has_moved = false;
    for (Model& model : models_) {
      has_moved = has_moved || model.stepped->instances().running_count() > 0;
      model.stepped->instances().CompleteAll();
      next = std::min(next, model.stepped->next_step());
    }
    const TimePoint now = models_[0].stepped->clock().Now();
    if (!has_moved && next != kNever && next > now) {
      Advance(next - now);
    }
  }
  for (const Model& model : models_) {
    EXPECT_TRUE(model.stepped->scheduler().IsIdle()) << "something is left";
  }
}

// The requests of a level start in their order, and parts of one stay so.
void SharedModels::OnStart(Model& model, const Batch& batch) {
  const Scheduler& scheduler = model.stepped->scheduler();
  EXPECT_LE(batch.rows(), scheduler.options().max_batch_size);
  EXPECT_TRUE(batch.rows() <= scheduler.runtime_options().max_batch_size ||
              batch.entries().size() == 1)
      << "a batch larger than the options let it be";
  for (const Batch::Entry& entry : batch.entries()) {
    const int64_t id = IdOf(*entry.request);
    const Call& call = model.calls[static_cast<size_t>(id)];
    int64_t& last = model.last_started[static_cast<size_t>(entry.level)];
    EXPECT_TRUE(call.is_accepted) << "a refused request runs";
    EXPECT_FALSE(call.is_cancelled) << "a cancelled request runs";
    EXPECT_FALSE(call.test.completion().is_answered());
    EXPECT_GE(id, last) << "a request was overtaken";
    last = id;
  }
  int32_t computing = 1;  // this one is not counted yet
  for (const Model& each : models_) {
    computing += each.stepped->instances().computing_count();
  }
  EXPECT_LE(computing, permits_) << "more compute than the device lets in";
}

void SharedModels::OnRespond(const Model& model, const Call& call) {
  EXPECT_TRUE(call.is_accepted) << "a refused request is answered";
  switch (call.test.code()) {
    case StatusCode::kOk:
      EXPECT_TRUE(call.test.HasOwnRows()) << "rows of another";
      break;
    case StatusCode::kCancelled:
      EXPECT_TRUE(call.is_cancelled);
      break;
    case StatusCode::kDeadlineExceeded:
      EXPECT_NE(call.test.request().deadline, kNever);
      break;
    case StatusCode::kInternal:
      EXPECT_TRUE(model.has_failed);
      break;
    default:
      EXPECT_EQ(call.test.code(), StatusCode::kUnavailable);
      EXPECT_TRUE(model.is_unloaded);
  }
}

// Where nothing runs, what is queued has a moment at which it goes on.
void SharedModels::CheckAtRest() const {
  TimePoint next = kNever;
  bool is_running = false;
  for (const Model& model : models_) {
    is_running = is_running || model.stepped->instances().running_count() > 0;
    next = std::min(next, model.stepped->next_step());
  }
  EXPECT_TRUE(is_running || next != kNever ||
              std::all_of(models_.begin(), models_.end(), IsAnswered))
      << "requests wait for nothing";
}

bool SharedModels::IsAnswered(const Model& model) {
  return std::all_of(
      model.calls.begin(), model.calls.end(), [](const Call& call) {
        return !call.is_accepted || call.test.completion().is_answered();
      });
}

}  // namespace ferry
