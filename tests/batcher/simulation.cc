// What happens in a simulation; what is checked is in simulation_checks.cc and
// simulation_forecast.cc.
#include "tests/batcher/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal, "batch failed"};

}  // namespace

Simulation::Simulation(uint64_t seed, Load load, Draws draws)
    : load_(load),
      draws_(draws),
      random_(seed),
      later_(~seed),
      options_(DrawOptions()),
      stepped_(options_),
      forecasts_(options_) {
  knobs_ = stepped_.batcher().knobs();
  bounds_ = knobs_.queue;
  stepped_.backend().on_start = [this](const Batch& batch) { OnStart(batch); };
}

void Simulation::Run(int actions) {
  for (int i = 0; i < actions && !::testing::Test::HasFailure(); ++i) {
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
  const int64_t dice = Uniform(1, 1000);
  if (dice <= 350) {
    SubmitNew();
  } else if (dice <= 400) {
    SubmitAgain();
  } else if (dice <= 480) {
    CancelAny();
  } else if (dice <= 850) {
    MoveBackend();
  } else if (dice <= 986) {
    MoveTime();
  } else if (dice <= 994) {
    TurnKnobs();
  } else if (dice <= 997) {
    is_draining_ = true;
    stepped_.batcher().BeginDrain();
  } else if (stepped_.backend().started_count() > 0 && OneIn(3)) {
    is_broken_ = true;
    stepped_.backend().Break();
  }
}

// Nobody is in a hurry and nothing ends it.
void Simulation::ActOverloaded() {
  const int64_t dice = Uniform(1, 1000);
  if (dice <= 500) {
    SubmitNew();
  } else if (dice <= 900) {
    MoveBackend();
  } else if (dice <= 998) {
    MoveTime();
  } else {
    TurnKnobs();
  }
}

void Simulation::SubmitNew() {
  TestRequestOptions options{.id = std::ssize(calls_)};
  options.rows =
      static_cast<int32_t>(OneIn(3) ? Uniform(1, knobs_.max_batch_size) : 1);
  if (options_.backend.spec.inputs[0].dims[0] == kAnySize) {
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
  options.level =
      static_cast<int32_t>(Uniform(0, std::ssize(options_.batcher.levels) - 1));
  Call& call = calls_.emplace_back(options);
  call.test.completion().on_respond = [this, &call] { OnRespond(call); };
  if (OneIn(30)) {
    call.is_cancelled = true;
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
      call.test.request().rows <= knobs_.max_batch_size &&
      completion.respond_count() == completion.released_count()) {
    call.test.Reset();
    call.is_cancelled = false;
    Submit(call);
  }
}

void Simulation::Submit(Call& call) {
  if (options_.batcher.preserve_ordering) {
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
  if (status.message() ==
      "the queue and the model need longer than the request's deadline") {
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
  stepped_.Cancel(call.test);
}

void Simulation::MoveBackend() {
  ScriptedBackend& backend = stepped_.backend();
  if (backend.running_count() == 0) {
    return;
  }
  const auto index = static_cast<size_t>(
      Uniform(0, static_cast<int64_t>(backend.running_count()) - 1));
  const Outcome outcome = OneIn(10) || is_broken_ ? kFailed : Outcome{};
  const Batch& batch = backend.batch(index);
  if (backend.is_staged(index) && !backend.is_computed(index)) {
    Compute(batch, outcome);
  }
  const size_t running_before = backend.running_count();
  backend.Advance(index, outcome);
  if (backend.running_count() < running_before) {
    EndBatch(batch);
  }
}

void Simulation::Compute(const Batch& batch, Outcome outcome) {
  const TimePoint begin = batch.times().lane_begin;
  if (Now() < begin + least_compute_) {
    stepped_.clock().Advance(begin + least_compute_ - Now());
  }
  for (const Batch::Entry& entry : batch.entries()) {
    calls_[static_cast<size_t>(IdOf(*entry.request))].result = outcome.code;
  }
  if (outcome.ok()) {
    forecasts_.Computed(batch.rows(), Now() - begin);
  }
}

// Where order is preserved it is under way until those before it have ended.
void Simulation::EndBatch(const Batch& batch) {
  const auto ended = std::find_if(
      under_way_.begin(), under_way_.end(),
      [&batch](const UnderWay& each) { return each.batch == &batch; });
  ASSERT_NE(ended, under_way_.end());
  if (!options_.batcher.preserve_ordering) {
    under_way_.erase(ended);
    return;
  }
  ended->has_ended = true;
  while (!under_way_.empty() && under_way_.front().has_ended) {
    under_way_.pop_front();
  }
}

void Simulation::TurnKnobs() {
  const BatcherOptions& loaded = options_.batcher;
  Knobs knobs = knobs_;
  knobs.max_batch_size =
      static_cast<int32_t>(Uniform(1, loaded.max_batch_size + 1));
  knobs.policy = static_cast<PolicyKind>(Uniform(0, 2));
  knobs.max_wait = Milliseconds(static_cast<double>(Uniform(0, 4)));
  // Down, up again, and past what was loaded.
  knobs.queue.requests =
      static_cast<int32_t>(Uniform(1, loaded.queue.requests * 3 / 2));
  knobs.queue.rows =
      static_cast<int32_t>(Uniform(1, loaded.queue.rows * 3 / 2));
  knobs.queue.bytes = Uniform(8, loaded.queue.bytes * 3 / 2);
  const absl::Status status = stepped_.batcher().SetKnobs(knobs);
  EXPECT_EQ(status.ok(), knobs.max_batch_size <= loaded.max_batch_size);
  if (status.ok()) {
    knobs_ = knobs;
    bounds_ = {.requests = std::max(knobs.queue.requests,
                                    static_cast<int32_t>(queued_.size())),
               .rows = std::max(knobs.queue.rows, QueuedRows()),
               .bytes = std::max(knobs.queue.bytes, KeptBytes())};
    for (Share& share : shares_) {  // what it could save up may be less now
      share.started_rows = 0;
      share.own_rows = 0;
    }
  }
}

void Simulation::MoveTime() {
  if (stepped_.backend().running_count() == 0 && LaterOneIn(8)) {
    stepped_.clock().Advance(Milliseconds(60'000));  // nothing to be believed
  }
  if (OneIn(3) && wait_.until != kNever && wait_.until > Now()) {
    stepped_.clock().Advance(wait_.until - Now());
  } else {
    stepped_.clock().Advance(Duration(Uniform(0, 20) * 50'000));
  }
}

void Simulation::Step() {
  has_stepped_ = true;
  wait_ = stepped_.Step();
  forecasts_.Stepped(ComputingCount());
}

void Simulation::End() {
  if (OneIn(2)) {
    is_ending_ = true;
    stepped_.Destroy();
  } else {
    stepped_.batcher().BeginDrain();
    is_draining_ = true;
    while (!queued_.empty() || stepped_.backend().running_count() > 0) {
      while (stepped_.backend().running_count() > 0) {
        MoveBackend();
      }
      Step();
    }
    Step();
    CheckTotals();
  }
  for (Call& call : calls_) {
    EXPECT_EQ(call.state, State::kOutside) << "call " << call.test.id();
    EXPECT_EQ(call.test.completion().respond_count(),
              call.test.completion().released_count())
        << "call " << call.test.id();
  }
}

}  // namespace ferry
