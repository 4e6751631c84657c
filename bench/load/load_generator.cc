// Implements LoadGenerator's open and closed loop, and what all share: calls,
// window, drain. offline_query.cc implements the query.
#include "bench/load/load_generator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace ferry::bench {
namespace {

// How late Stop() may be seen.
constexpr Duration kLookForStop = std::chrono::milliseconds(50);
constexpr Duration kLookForDecision = std::chrono::milliseconds(20);
constexpr Duration kLookForAnswers = std::chrono::milliseconds(1);
constexpr Duration kLookForIdleCall = std::chrono::microseconds(100);
// How long calls may take to end once they are cancelled.
constexpr Duration kCancelLimit = std::chrono::milliseconds(30000);
// A closed loop's call that ends with UNAVAILABLE pauses, from its send: first
// this, doubled each time.
constexpr Duration kLeastPause = std::chrono::milliseconds(1);
constexpr Duration kMostPause = std::chrono::milliseconds(100);
constexpr Duration kLookForRested = std::chrono::milliseconds(5);

}  // namespace

class LoadGenerator::Call final : public Target::Caller {
 public:
  explicit Call(LoadGenerator& owner) : owner_(owner) {}
  void Ended(absl::StatusCode code) override { owner_.Ended(*this, code); }

  TimePoint planned;
  TimePoint sent;
  size_t of_class = 0;
  Duration pause{0};   // the last; 0: it did not end with UNAVAILABLE
  TimePoint again_at;  // while it rests

 private:
  LoadGenerator& owner_;
};

LoadGenerator::LoadGenerator(Target& target, Pacer& pacer)
    : target_(target), pacer_(pacer) {}

LoadGenerator::~LoadGenerator() = default;

std::unique_ptr<LoadResult> LoadGenerator::RunOpen(ArrivalProcess& arrivals,
                                                   const LoadPlan& plan) {
  Begin(Loop::kOpen, plan.max_outstanding, plan);
  const TimePoint give_up = plan_.window_end() + plan_.drain_limit;
  TimePoint planned = plan_.start;
  while (true) {
    planned += arrivals.NextGap();
    if (planned >= plan_.window_end() || !SleepUntil(planned)) {
      break;
    }
    Call* const call = TakeCall(give_up);
    if (call != nullptr) {
      SendPlanned(*call, planned);
      if (IsDecided(planned)) {
        return End();
      }
      continue;
    }
    if (stopped_.load(std::memory_order_relaxed)) {
      break;
    }
    MutexLock lock(mutex_);
    result_->planned += IsInWindow(planned) ? 1 : 0;
    result_->not_sent += IsInWindow(planned) ? 1 : 0;
  }
  SleepUntil(plan_.window_end());
  return End();
}

bool LoadGenerator::IsDecided(TimePoint planned) {
  if (!plan_.is_decided || planned < next_look_) {
    return false;
  }
  next_look_ = planned + kLookForDecision;
  MutexLock lock(mutex_);
  result_->is_decided = plan_.is_decided(*result_);
  return result_->is_decided;
}

std::unique_ptr<LoadResult> LoadGenerator::RunClosed(int32_t outstanding,
                                                     const LoadPlan& plan) {
  Check(outstanding >= 1, "a closed loop has an outstanding call");
  Begin(Loop::kClosed, outstanding, plan);
  if (SleepUntil(plan_.start)) {
    for (const auto& call : calls_) {
      {
        MutexLock lock(mutex_);
        idle_.pop_back();
      }
      SendPlanned(*call, pacer_.Now());
    }
    SendRested();
  }
  return End();
}

void LoadGenerator::SendRested() {
  std::vector<Call*> due;
  TimePoint now = pacer_.Now();
  while (now < plan_.window_end() &&
         !stopped_.load(std::memory_order_relaxed)) {
    due.clear();
    const TimePoint next = TakeRested(now, due);
    for (Call* const call : due) {
      SendPlanned(*call, now);
    }
    pacer_.SleepUntil(
        std::min({plan_.window_end(), next, now + kLookForRested}));
    now = pacer_.Now();
  }
  MutexLock lock(mutex_);
  may_rest_ = false;
  idle_.insert(idle_.end(), resting_.begin(), resting_.end());
  resting_.clear();
}

TimePoint LoadGenerator::TakeRested(TimePoint now, std::vector<Call*>& due) {
  TimePoint next = plan_.window_end();
  MutexLock lock(mutex_);
  std::erase_if(resting_, [&](Call* call) {
    if (call->again_at <= now) {
      due.push_back(call);
      return true;
    }
    next = std::min(next, call->again_at);
    return false;
  });
  return next;
}

bool LoadGenerator::Rests(Call& call, TimePoint now, absl::StatusCode code) {
  if (code != absl::StatusCode::kUnavailable) {
    call.pause = Duration::zero();
    return false;
  }
  call.pause = std::clamp(2 * call.pause, kLeastPause, kMostPause);
  call.again_at = call.sent + call.pause;
  if (!may_rest_ || call.again_at <= now) {
    return false;
  }
  result_->backed_off += IsInWindow(call.planned) ? 1 : 0;
  resting_.push_back(&call);
  return true;
}

void LoadGenerator::Begin(Loop loop, int32_t calls, const LoadPlan& plan) {
  plan_ = plan;
  if (!plan.keeps_start) {
    plan_.start = std::max(plan.start, pacer_.Now());
  }
  next_look_ = plan_.window_begin();
  loop_ = loop;
  query_ = 0;
  calls_.clear();
  at_hand_.clear();
  MutexLock lock(mutex_);
  idle_.clear();
  for (int32_t i = 0; i < calls; ++i) {
    calls_.push_back(std::make_unique<Call>(*this));
    idle_.push_back(calls_.back().get());
  }
  result_ = std::make_unique<LoadResult>();
  if (target_.class_count() > 1) {
    result_->classes.resize(target_.class_count());
  }
  result_->is_open = loop == Loop::kOpen;
  result_->is_offline = loop == Loop::kOffline;
  if (plan_.slices > 0) {
    result_->slices.resize(static_cast<size_t>(plan_.slices));
    result_->slice = plan_.measured / plan_.slices;
  }
  resting_.clear();
  may_rest_ = loop == Loop::kClosed;
  is_giving_up_ = false;
  is_sending_.store(true, std::memory_order_relaxed);
}

std::unique_ptr<LoadResult> LoadGenerator::End() {
  is_sending_.store(false, std::memory_order_relaxed);
  const TimePoint ended = pacer_.Now();
  const TimePoint give_up = ended + plan_.drain_limit;
  while (outstanding() > 0 && pacer_.Now() < give_up) {
    pacer_.SleepUntil(pacer_.Now() + kLookForAnswers);
  }
  if (outstanding() > 0) {
    {
      MutexLock lock(mutex_);
      is_giving_up_ = true;
    }
    target_.CancelAll();
    const TimePoint lost = pacer_.Now() + kCancelLimit;
    while (outstanding() > 0) {
      Check(pacer_.Now() < lost, "a cancelled call ends");
      pacer_.SleepUntil(pacer_.Now() + kLookForAnswers);
    }
  }
  MutexLock lock(mutex_);
  result_->interrupted = stopped_.load(std::memory_order_relaxed);
  const bool is_whole = result_->is_offline && !result_->interrupted;
  const TimePoint window_end =
      is_whole ? last_answer_ : std::min(plan_.window_end(), ended);
  result_->window =
      std::max(window_end - plan_.window_begin(), Duration::zero());
  return std::move(result_);
}

std::optional<LoadProgress> LoadGenerator::progress() const {
  MutexLock lock(mutex_);
  if (result_ == nullptr) {
    return std::nullopt;
  }
  const TimePoint now = pacer_.Now();
  const LatencyHistogram& latency = result_->latency;
  return LoadProgress{
      .left = std::max(plan_.window_end() - now, Duration::zero()),
      .measured = std::max(now - plan_.window_begin(), Duration::zero()),
      .of_query = query_,
      .ok = result_->ok(),
      .failed = result_->failed(),
      .p50_ns = latency.Quantile(0.5),
      .p99_ns = latency.Quantile(0.99)};
}

// Returns whether the run goes on.
bool LoadGenerator::SleepUntil(TimePoint until) {
  while (!stopped_.load(std::memory_order_relaxed)) {
    const TimePoint now = pacer_.Now();
    if (now >= until) {
      return true;
    }
    pacer_.SleepUntil(std::min(until, now + kLookForStop));
  }
  return false;
}

// Returns null where none was free until `give_up`, or the run is stopped.
LoadGenerator::Call* LoadGenerator::TakeCall(TimePoint give_up) {
  bool was_held_back = false;
  while (at_hand_.empty()) {
    {
      MutexLock lock(mutex_);
      std::swap(at_hand_, idle_);
      result_->held_back += at_hand_.empty() && !was_held_back ? 1 : 0;
    }
    if (at_hand_.empty()) {
      was_held_back = true;
      if (pacer_.Now() >= give_up || stopped_.load(std::memory_order_relaxed)) {
        return nullptr;
      }
      pacer_.SleepUntil(pacer_.Now() + kLookForIdleCall);
    }
  }
  Call* const call = at_hand_.back();
  at_hand_.pop_back();
  return call;
}

void LoadGenerator::SendPlanned(Call& call, TimePoint planned) {
  call.planned = planned;
  call.sent = pacer_.Now();
  if (loop_ == Loop::kClosed) {
    call.planned = call.sent;
  }
  const uint64_t number = next_number_.fetch_add(1, std::memory_order_relaxed);
  call.of_class = target_.ClassOf(number);
  target_.Send(number, call);
}

bool LoadGenerator::IsSentAgain(TimePoint now) {
  if (!is_sending_.load(std::memory_order_relaxed)) {
    return false;
  }
  return loop_ == Loop::kOffline
             ? TakeOfQuery()
             : loop_ == Loop::kClosed && now < plan_.window_end();
}

void LoadGenerator::Ended(Call& call, absl::StatusCode code) {
  const TimePoint now = pacer_.Now();
  const bool again = IsSentAgain(now);
  {
    MutexLock lock(mutex_);
    Record(call, now, code);
    if (!again) {
      // The last touch: Begin() may free the call once all are idle.
      idle_.push_back(&call);
      return;
    }
    if (Rests(call, now, code)) {
      return;
    }
  }
  SendPlanned(call, loop_ == Loop::kOffline ? plan_.start : now);
}

void LoadGenerator::Record(const Call& call, TimePoint now,
                           absl::StatusCode code) {
  const bool ok = code == absl::StatusCode::kOk;
  if (ok && IsInWindow(now) && is_sending_.load(std::memory_order_relaxed)) {
    ++result_->ok_in_window;
  }
  if (!IsInWindow(call.planned)) {
    return;
  }
  ++result_->planned;
  if (loop_ != Loop::kOffline) {  // where calls are to be sent later
    RecordLatency(result_->send_lag, call.sent - call.planned);
  }
  if (!result_->slices.empty()) {
    RecordSlice(call, now, ok);
  }
  if (plan_.keeps_stamps) {
    const TimePoint begin = plan_.window_begin();
    result_->stamps.push_back({call.planned - begin, call.sent - begin,
                               now - begin, call.of_class, code});
  }
  if (is_giving_up_ && code == absl::StatusCode::kCancelled) {
    ++result_->unanswered;
    return;
  }
  last_answer_ = std::max(last_answer_, now);
  ++result_->ended[static_cast<size_t>(code)];
  if (!result_->classes.empty()) {
    RecordClass(call, now, code);
  }
  if (ok) {
    RecordLatency(result_->latency, now - call.planned);
    RecordLatency(result_->latency_from_send, now - call.sent);
    return;
  }
  RecordLatency(result_->failed_latency, now - call.planned);
}

void LoadGenerator::RecordSlice(const Call& call, TimePoint now, bool ok) {
  const auto place = static_cast<size_t>((call.planned - plan_.window_begin()) /
                                         result_->slice);
  LoadSlice& slice =
      result_->slices[std::min(place, result_->slices.size() - 1)];
  ++slice.planned;
  RecordLatency(slice.send_lag, call.sent - call.planned);
  if (ok) {
    RecordLatency(slice.latency, now - call.planned);
  } else {
    ++slice.failed;
  }
}

void LoadGenerator::RecordClass(const Call& call, TimePoint now,
                                absl::StatusCode code) {
  ClassLoad& its = result_->classes[call.of_class];
  ++its.planned;
  ++its.ended[static_cast<size_t>(code)];
  if (code == absl::StatusCode::kOk) {
    RecordLatency(its.latency, now - call.planned);
  }
}

size_t LoadGenerator::outstanding() const {
  MutexLock lock(mutex_);
  return calls_.size() - idle_.size() - at_hand_.size();
}

}  // namespace ferry::bench
