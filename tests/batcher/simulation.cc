// Implements Simulation: what happens in it; what is checked is in
// simulation_checks.cc and simulation_forecast.cc.
#include "tests/batcher/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal, "batch failed"};

}  // namespace

Simulation::Simulation(uint64_t seed, Load load, Draws draws)
    : Simulation(std::make_shared<RandomChoices>(seed),
                 std::make_shared<RandomChoices>(~seed), load, draws) {}

Simulation::Simulation(std::shared_ptr<Choices> choices)
    : Simulation(choices, choices, Load::kMixed, Draws::kAll) {}

Simulation::Simulation(std::shared_ptr<Choices> choices,
                       std::shared_ptr<Choices> later, Load load, Draws draws)
    : load_(load),
      draws_(draws),
      choices_(std::move(choices)),
      later_(std::move(later)),
      options_(DrawOptions()),
      stepped_(options_),
      pending_(static_cast<size_t>(options_.instances.count)),
      forecasts_(options_) {
  runtime_ = stepped_.scheduler().runtime_options();
  bounds_ = runtime_.queue;
  stepped_.instances().on_start = [this](const Batch& batch) {
    OnStart(batch);
  };
}

void Simulation::Run(int actions) {
  for (int i = 0;
       i < actions && !choices_->is_over() && !::testing::Test::HasFailure();
       ++i) {
    if (load_ == Load::kOverload) {
      ActOverloaded();
    } else {
      Act();
    }
    if (MustStep() && !OneIn(4)) {
      Step();
    }
    if (OneIn(4)) {  // a snapshot is what costs most here
      CheckCounts();
    }
    if (!MustStep()) {
      CheckAtRest();
    }
  }
  End();
}

void Simulation::Act() {
  switch (choices_->Pick({350, 50, 80, 370, 136, 8, 3, 3})) {
    case 0:
      return SubmitNew();
    case 1:
      return SubmitAgain();
    case 2:
      return CancelAny();
    case 3:
      return MoveInstances();
    case 4:
      return MoveTime();
    case 5:
      return ChangeOptions();
    case 6:
      is_draining_ = true;
      return stepped_.scheduler().BeginDrain();
    default:
      if (OneIn(3)) {
        LoseDevice();
      }
  }
}

// No request is urgent and nothing ends it.
void Simulation::ActOverloaded() {
  switch (choices_->Pick({500, 400, 98, 2})) {
    case 0:
      return SubmitNew();
    case 1:
      return MoveInstances();
    case 2:
      return MoveTime();
    default:
      ChangeOptions();
  }
}

void Simulation::SubmitNew() {
  TestRequestOptions options{.id = std::ssize(calls_)};
  options.rows =
      static_cast<int32_t>(OneIn(3) ? Uniform(1, runtime_.max_batch_size) : 1);
  if (options_.instances.spec.inputs[0].dims[0] == kAnySize) {
    options.width = OneIn(4) ? Uniform(1, 3) : 2;
  }
  if (load_ == Load::kMixed && OneIn(2)) {
    options.deadline = Now() + Duration(Uniform(-2, 40) * 100'000);
    if (LaterOneIn(3)) {  // up to 26 s
      options.deadline = Now() + Duration(100'000 << LaterUniform(0, 18));
    }
  }
  if (load_ == Load::kMixed && OneIn(4)) {
    options.timeout = Milliseconds(static_cast<double>(Uniform(1, 20)));
  }
  options.level = static_cast<int32_t>(
      Uniform(0, std::ssize(options_.scheduler.levels) - 1));
  Call& call = calls_.emplace_back(options);
  call.test.completion().on_respond = [this, &call] { OnRespond(call); };
  if (OneIn(30)) {
    call.is_cancelled = true;
    call.cancelled_at = Now();
    stepped_.Cancel(call.test);  // before it is submitted
  }
  Submit(call);
}

void Simulation::SubmitAgain() {
  if (calls_.empty()) {
    return;
  }
  Call& call = calls_[static_cast<size_t>(Uniform(0, std::ssize(calls_) - 1))];
  const CountingCompletion& completion = call.test.completion();
  if (call.state == State::kOutside &&
      call.test.request().rows <= runtime_.max_batch_size &&
      completion.respond_count() == completion.respond_count()) {
    call.test.Reset();
    call.is_cancelled = false;
    Submit(call);
  }
}

void Simulation::Submit(Call& call) {
  if (options_.scheduler.preserve_ordering) {
    stepped_.clock().Advance(Duration(1));  // no two arrive at once
  }
  const InferRequest& request = call.test.request();
  const TimePoint due = DueOf(request);
  std::optional<Refusal> refusal = ExpectedRefusal(request);
  const TimePoint latest_answer = LatestAnswer(request);
  if (!refusal.has_value()) {
    call.state = State::kQueued;
    queued_.push_back(&call);
    ++accepted_count_;
  }
  const absl::Status status = stepped_.TrySubmit(call.test);
  if (absl::StartsWith(
          status.message(),
          "the queue and the model need longer than the request's deadline")) {
    CheckRefusedAsLate(request, latest_answer);
    if (!refusal.has_value()) {
      call.state = State::kOutside;
      queued_.pop_back();
      --accepted_count_;
    }
    refusal = Refusal::kWouldMiss;
  }
  if (refusal.has_value()) {
    ++refused_count_[static_cast<size_t>(*refusal)];
    EXPECT_FALSE(status.ok()) << "expected " << RefusalName(*refusal);
    return;
  }
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(request.due, due);
  CheckLetIn(request);
}

void Simulation::CancelAny() {
  if (calls_.empty()) {
    return;
  }
  Call& call = calls_[static_cast<size_t>(Uniform(0, std::ssize(calls_) - 1))];
  call.is_cancelled = true;
  call.cancelled_at = Now();
  stepped_.Cancel(call.test);
}

void Simulation::MoveInstances() {
  ScriptedInstances& instances = stepped_.instances();
  if (instances.running_count() == 0) {
    return;
  }
  const auto index = static_cast<size_t>(
      Uniform(0, static_cast<int64_t>(instances.running_count()) - 1));
  const Outcome outcome = OneIn(10) || is_broken_ ? kFailed : Outcome{};
  const Batch& batch = instances.batch(index);
  const bool computes =
      instances.is_staged(index) && !instances.is_computed(index);
  if (computes) {
    Compute(batch, outcome);
  }
  const size_t running_before = instances.running_count();
  instances.Advance(index, outcome);
  if (computes && outcome.ok()) {
    Learn(index);
  }
  if (instances.running_count() < running_before) {
    EndBatch(batch);
  }
}

void Simulation::Compute(const Batch& batch, Outcome outcome) {
  const TimePoint begin = batch.closed();
  if (Now() < begin + least_compute_) {
    stepped_.clock().Advance(begin + least_compute_ - Now());
  }
  for (const Batch::Entry& entry : batch.entries()) {
    calls_[static_cast<size_t>(IdOf(*entry.request))].result = outcome.code;
  }
}

// The compute of a batch has ended well.
void Simulation::Learn(size_t index) {
  const Batch& batch = stepped_.instances().batch(index);
  if (options_.instances.max_in_flight > 1) {
    forecasts_.Computed(
        batch.rows(), batch.times().compute_end - batch.times().compute_begin);
  } else {
    const InstanceId id = stepped_.instances().instance(index);
    pending_[static_cast<size_t>(id)] = {batch.rows(), batch.closed()};
  }
}

// Only the oldest of an instance's own batches ends its compute.
void Simulation::LoseDevice() {
  ScriptedInstances& instances = stepped_.instances();
  for (size_t i = 0; i < instances.running_count(); ++i) {
    if (!instances.is_staged(i)) {
      instances.Stage(i);
    }
    if (!instances.is_computed(i)) {
      Compute(instances.batch(i), kFailed);
      is_broken_ = true;
      instances.Break(i);
      return;
    }
  }
}

// Where order is preserved it is under way until those before it have ended.
void Simulation::EndBatch(const Batch& batch) {
  const auto ended = std::find_if(
      under_way_.begin(), under_way_.end(),
      [&batch](const UnderWay& each) { return each.batch == &batch; });
  ASSERT_NE(ended, under_way_.end());
  if (!options_.scheduler.preserve_ordering) {
    under_way_.erase(ended);
    return;
  }
  ended->has_ended = true;
  while (!under_way_.empty() && under_way_.front().has_ended) {
    under_way_.pop_front();
  }
}

void Simulation::ChangeOptions() {
  const SchedulerOptions& loaded = options_.scheduler;
  RuntimeOptions options = runtime_;
  options.max_batch_size =
      static_cast<int32_t>(Uniform(1, loaded.max_batch_size + 1));
  options.policy = static_cast<PolicyKind>(Uniform(0, 2));
  options.max_wait = Milliseconds(static_cast<double>(Uniform(0, 4)));
  // Down, up again, and past what was loaded.
  options.queue.requests =
      static_cast<int32_t>(Uniform(1, loaded.queue.requests * 3 / 2));
  options.queue.rows =
      static_cast<int32_t>(Uniform(1, loaded.queue.rows * 3 / 2));
  options.queue.bytes = Uniform(8, loaded.queue.bytes * 3 / 2);
  const absl::Status status = stepped_.scheduler().SetRuntimeOptions(options);
  EXPECT_EQ(status.ok(), options.max_batch_size <= loaded.max_batch_size);
  if (status.ok()) {
    runtime_ = options;
    bounds_ = {.requests = std::max(options.queue.requests,
                                    static_cast<int32_t>(queued_.size())),
               .rows = std::max(options.queue.rows, QueuedRows()),
               .bytes = std::max(options.queue.bytes, KeptBytes())};
    for (Share& share : shares_) {  // what it could save up may be less now
      share.started_rows = 0;
      share.own_rows = 0;
    }
  }
}

void Simulation::MoveTime() {
  if (stepped_.instances().running_count() == 0 && LaterOneIn(8)) {
    stepped_.clock().Advance(Milliseconds(60'000));  // every time is stale
  }
  const TimePoint next_step = stepped_.next_step();
  if (OneIn(3) && next_step != kNever && next_step > Now()) {
    stepped_.clock().Advance(next_step - Now());
  } else {
    stepped_.clock().Advance(Duration(Uniform(0, 20) * 50'000));
  }
}

void Simulation::Step() {
  for (Pending& pending : pending_) {
    if (pending.rows > 0) {
      forecasts_.Computed(pending.rows, Now() - pending.begin);
      pending.rows = 0;
    }
  }
  stepped_.StepWhatIsDue();
  forecasts_.Stepped(stepped_.instances().computing_count());
}

void Simulation::End() {
  if (OneIn(2)) {
    is_ending_ = true;
    stepped_.Destroy();
  } else {
    stepped_.scheduler().BeginDrain();
    is_draining_ = true;
    while (!queued_.empty() || stepped_.instances().running_count() > 0) {
      while (stepped_.instances().running_count() > 0) {
        MoveInstances();
      }
      Step();
    }
    Step();
    CheckTotals();
  }
  for (Call& call : calls_) {
    EXPECT_EQ(call.state, State::kOutside) << "call " << call.test.id();
    EXPECT_EQ(call.test.completion().respond_count(),
              call.test.completion().respond_count())
        << "call " << call.test.id();
  }
}

}  // namespace ferry
