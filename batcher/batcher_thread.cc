// Who does the batcher's steps, and when.
#include <pthread.h>

#include <limits>

#include "batcher/batch_buckets.h"
#include "batcher/batcher.h"

namespace ferry {
namespace {

// Of a thread that has other work; then the own thread goes on.
constexpr int kMaxStepsOnTheSpot = 4;
constexpr int kNoLimit = std::numeric_limits<int>::max();

}  // namespace

// A lane that has to be woken steps itself, on what is there by then.
void Batcher::Serve() {
  if (!backend_->WakeLane(*this)) {
    AskForStep();
  }
}

bool Batcher::ServeInline() {
  const InlineRun run = IsForInline()
                            ? backend_->RunInline([this] { AskForStep(); })
                            : InlineRun::kNotLent;
  if (run == InlineRun::kNotLent) {
    Serve();
  }
  return run == InlineRun::kRan;
}

// Other policies than `eager` mostly have a batch wait for a moment, to which a
// lane sees.
bool Batcher::IsForInline() const {
  const Duration max_run = backend_->max_inline_run();
  if (max_run == Duration(0) ||
      policy_.load(std::memory_order_relaxed) != PolicyKind::kEager) {
    return false;
  }
  const int32_t rows =
      PaddedRows(options_.buckets, static_cast<int32_t>(admission_.rows()));
  const double takes_ns = alpha_ns_.load(std::memory_order_relaxed) +
                          beta_ns_.load(std::memory_order_relaxed) * rows;
  return takes_ns > 0 &&  // it is known
         takes_ns <= static_cast<double>(max_run.count());
}

void Batcher::AskForStep() {
  if (options_.stepping == Stepping::kByCaller) {
    events_.Notify();
  } else if (step_role_.Ask()) {
    SeeToAlarm(ToNanos(StepOn(kMaxStepsOnTheSpot)));
  }
}

// An idle lane keeps the alarm itself: when a batch's wait ends, one thread
// wakes and not two.
TimePoint Batcher::LaneAwake() {
  if (options_.stepping == Stepping::kByCaller) {
    events_.Notify();
    return kNever;
  }
  return step_role_.Ask() ? StepOn(kMaxStepsOnTheSpot) : kNever;
}

void Batcher::LaneBusy() {
  SeeToAlarm(wait_until_nanos_.load(std::memory_order_seq_cst));
}

void Batcher::SeeToAlarm(int64_t until_nanos) {
  if (until_nanos < alarm_nanos_.load(std::memory_order_seq_cst)) {
    events_.Notify();
  }
}

TimePoint Batcher::StepOn(int max_steps) {
  for (int steps = 1;; ++steps) {
    step_role_.Begin();
    const Wait wait = Step();
    if (!HasNews() && step_role_.TryLeave()) {
      return wait.until;
    }
    if (steps == max_steps) {
      is_handed_over_.store(true, std::memory_order_seq_cst);
      events_.Notify();
      return kNever;
    }
  }
}

void Batcher::Run() {
  pthread_setname_np(pthread_self(), "ferry-batcher");
  UsePreciseTimers();
  for (;;) {
    const EventCount::Key key = events_.PrepareWait();
    if (stop_.load(std::memory_order_seq_cst)) {
      return;
    }
    if (is_handed_over_.exchange(false, std::memory_order_seq_cst) ||
        SetAlarm()) {
      events_.CancelWait();
      StepOn(kNoLimit);
    } else {
      events_.Wait(key,
                   FromNanos(alarm_nanos_.load(std::memory_order_relaxed)));
    }
  }
}

bool Batcher::SetAlarm() {
  int64_t until = wait_until_nanos_.load(std::memory_order_seq_cst);
  for (;;) {
    if (ToNanos(clock_.Now()) >= until) {
      // Before asking: a stepper that is at it steps once more, then looks.
      alarm_nanos_.store(ToNanos(kNever), std::memory_order_seq_cst);
      return step_role_.Ask();
    }
    alarm_nanos_.store(until, std::memory_order_seq_cst);
    const int64_t newer = wait_until_nanos_.load(std::memory_order_seq_cst);
    if (newer >= until) {
      return false;
    }
    until = newer;
  }
}

bool Batcher::IsNews(TimePoint due, uint64_t shape_key) const {
  // Rows are counted before they are pushed and read after: whoever pushes last
  // sees those of all, whatever the order of their admission.
  if (due != kNever) {
    due -= Duration(pressing_nanos_.load(std::memory_order_seq_cst));
  }
  const uint64_t ordered = ordered_shape_.load(std::memory_order_seq_cst);
  return (ordered != 0 && shape_key != ordered) ||
         admission_.rows() >= wake_at_rows_.load(std::memory_order_seq_cst) ||
         ToNanos(due) < wait_until_nanos_.load(std::memory_order_seq_cst) ||
         admission_.closed() ||  // and what is queued may have been given up
         SlotAwaitsRows();
}

// Whether somebody published what the last step has not seen, and may not have
// asked for one: he may have looked at what was waited for before it.
bool Batcher::HasNews() const {
  return !pushed_.empty() || !cancelled_.empty() || !finished_.empty() ||
         SlotAwaitsRows() || knobs_changed_.load(std::memory_order_seq_cst) ||
         (wants_lane_.load(std::memory_order_relaxed) &&
          compute_ends_.load(std::memory_order_seq_cst) != compute_ends_taken_);
}

// Of SlotFree() and Submit() at the same time, whichever looks last sees the
// other: the slot is counted before the rows are read, and the rows before the
// slot is.
bool Batcher::SlotAwaitsRows() const {
  const int32_t awaited = awaited_slots_.load(std::memory_order_seq_cst);
  return free_slots_.load(std::memory_order_seq_cst) >= awaited &&
         admission_.rows() > 0;
}

}  // namespace ferry
