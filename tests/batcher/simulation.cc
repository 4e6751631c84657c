// What happens in a simulation; what is checked is in simulation_checks.cc.
#include "tests/batcher/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal, "batch failed"};

}  // namespace

Simulation::Simulation(uint64_t seed, Load load)
    : load_(load),
      random_(seed),
      options_(RandomOptions(random_, load)),
      stepped_(options_) {
  knobs_ = stepped_.batcher().knobs();
  bounds_ = knobs_.queue;
  stepped_.backend().on_start = [this](const Batch& batch) { OnStart(batch); };
}

SteppedBatcherOptions Simulation::RandomOptions(std::mt19937_64& random,
                                                Load load) {
  const auto uniform = [&random](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  SteppedBatcherOptions options;
  BatcherOptions& batcher = options.batcher;
  batcher.max_batch_size = uniform(1, 12);
  if (uniform(1, 3) == 1) {
    batcher.max_requests_per_batch = uniform(1, 5);
  }
  constexpr PolicyKind kPolicies[] = {PolicyKind::kEager, PolicyKind::kWindow,
                                      PolicyKind::kAdaptive};
  batcher.policy = kPolicies[uniform(0, 2)];
  batcher.max_wait = Milliseconds(uniform(0, 4));
  batcher.queue.requests = uniform(1, 30);
  batcher.queue.rows = uniform(1, 80);
  batcher.queue.bytes = uniform(8, 1000);
  batcher.levels.resize(static_cast<size_t>(uniform(1, 3)));
  for (LevelOptions& level : batcher.levels) {
    level.default_timeout = Milliseconds(uniform(0, 1) * uniform(1, 30));
    level.may_shorten = uniform(0, 1) == 0;
    level.delays_late = uniform(0, 2) == 0;
    level.max_requests = uniform(0, 1) * uniform(1, 10);
  }
  if (uniform(0, 2) == 0) {
    batcher.buckets = {batcher.max_batch_size};
    if (batcher.max_batch_size > 2) {
      batcher.buckets.insert(batcher.buckets.begin(),
                             batcher.max_batch_size / 2);
    }
  }
  batcher.max_undelivered_batches = uniform(1, 3);
  options.backend.lanes = uniform(1, 3);
  options.backend.slots = options.backend.lanes * uniform(1, 2);
  options.backend.spec = RowSpec(uniform(0, 1) == 0 ? 1 : kAnySize);
  if (load == Load::kOverload) {
    batcher.queue = {.requests = uniform(20, 60)};
    batcher.levels.assign(static_cast<size_t>(uniform(2, 3)),
                          {.max_requests = 20});
  }
  options.backend.starts_only_full_ahead = uniform(0, 1) == 0;
  return options;
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
  const InferRequest& request = call.test.request();
  const TimePoint due = DueOf(request);
  std::optional<Refusal> refusal = ExpectedRefusal(request);
  if (!refusal.has_value()) {
    call.state = State::kQueued;
    queued_.push_back(&call);
    ++accepted_count_;
  }
  const absl::Status status = stepped_.TrySubmit(call.test);
  if (status.message() ==
      "the queue and the model need longer than the request's deadline") {
    EXPECT_TRUE(MayForecast() && due != kNever);
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
  if (backend.is_staged(index) && !backend.is_computed(index)) {
    for (const Batch::Entry& entry : backend.batch(index).entries()) {
      calls_[static_cast<size_t>(IdOf(*entry.request))].result = outcome.code;
    }
  }
  const bool ends_compute =
      backend.is_staged(index) && !backend.is_computed(index);
  computed_count_ += ends_compute ? 1 : 0;
  backend.Advance(index, outcome);
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
  if (OneIn(3) && wait_.until != kNever && wait_.until > Now()) {
    stepped_.clock().Advance(wait_.until - Now());
  } else {
    stepped_.clock().Advance(Duration(Uniform(0, 20) * 50'000));
  }
}

void Simulation::Step() {
  has_stepped_ = true;
  wait_ = stepped_.Step();
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
