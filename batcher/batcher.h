// Batcher: requests in, batches to a backend, answers out. The heart of Ferry;
// start here.
//
// One Batcher serves one model version. A step takes what was pushed, keeps it
// in arrival order, asks the BatchPolicy when the open batch leaves, and
// answers what is cancelled or expires while it waits. It never runs a model
// and never waits for one. One thread at a time does steps, the stepper: who
// has news (StepRole), or the batcher's own thread when it is time.
//
// Guarantees (numbers of docs/architecture.md; tests cite them):
//   G1  Every accepted request is answered exactly once: with its own rows, or
//       with an error.
//   G2  A batch holds 1..max_batch_size rows of one shape; a request's rows
//       stay together, or in parts of a whole batch where they are more, and
//       in order; requests of one shape and level start in arrival order,
//       those that their level delays after the others.
//   G3  Under `eager` no request waits while a lane is idle, unless its caller
//       has yet to tell (Serve()); under `window` and `adaptive` none waits
//       longer than max_wait and 1 ms while one is.
//   G4  What is cancelled or past its deadline when its batch closes, or would
//       be when it ends, never reaches the backend; what expires or is
//       cancelled while queued is answered within 1 ms, by the batcher's own
//       timer, where the threads that are due get a processor.
//   G5  The queue is bounded in requests, rows and bytes, and the batches in
//       flight by the backend's slots and max_undelivered_batches.
//
// Thread safety: thread-safe, except the destructor. Steady state allocates
// nothing per request.
// Memory ordering: what the caller wrote into a request before Submit() is
// visible to the backend; what the backend wrote into the output is visible in
// Completion::Respond().
#ifndef FERRY_BATCHER_BATCHER_H_
#define FERRY_BATCHER_BATCHER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "batcher/admission.h"
#include "batcher/backend.h"
#include "batcher/batch.h"
#include "batcher/batch_former.h"
#include "batcher/batch_order.h"
#include "batcher/event_count.h"
#include "batcher/infer_request.h"
#include "batcher/knobs.h"
#include "batcher/level_options.h"
#include "batcher/mutex.h"
#include "batcher/push_list.h"
#include "batcher/reply_burst.h"
#include "batcher/split_request.h"
#include "batcher/statistics.h"
#include "batcher/step_role.h"
#include "batcher/wait_forecast.h"

namespace ferry {

// Who runs the batcher's steps: whoever has news, and a thread that wakes when
// it is time; or the caller alone through Step() (tests and simulations on a
// clock of their own).
enum class Stepping { kOnTheSpot, kByCaller };

struct BatcherOptions {
  int32_t max_batch_size = 64;  // rows, >= 1; knobs never pass it
  // Requests in one batch: 1 where the model does not batch across requests.
  int32_t max_requests_per_batch = std::numeric_limits<int32_t>::max();
  // Replies leave in the order of arrival; not with several levels.
  bool preserve_ordering = false;
  PolicyKind policy = PolicyKind::kEager;
  Duration max_wait = Milliseconds(5);
  // A batch of that many rows no longer waits, though it is not full; 0: only
  // a full one. Changes nothing under `eager`.
  int32_t enough_rows = 0;
  // What the backend pads batches to (batch_buckets.h), max_batch_size last.
  std::vector<int32_t> buckets = {};
  QueueBounds queue = {};
  std::vector<LevelOptions> levels = {{}};  // 1 to kMaxLevels, urgent first
  // Batches whose compute has ended and whose replies are not all handed over.
  int32_t max_undelivered_batches = 4;
  Stepping stepping = Stepping::kOnTheSpot;
  // Told of the replies of a batch of several requests, none of them a part of
  // a larger one; outlives the batcher. Null: nobody.
  ReplyBurst* burst = nullptr;
  const Clock* clock = &Clock::Steady();  // outlives the batcher
};

class Batcher final : private BackendEvents {
 public:
  // Errors: INVALID_ARGUMENT where an option is out of range; a batcher with
  // its own thread sleeps on the system's clock and takes no other.
  static absl::StatusOr<std::unique_ptr<Batcher>> Create(
      std::unique_ptr<Backend> backend, const BatcherOptions& options);

  // Answers what is still queued with UNAVAILABLE and waits for what runs.
  // REQUIRES: no other call is under way or follows.
  ~Batcher();

  // Accepts the request, or refuses it and returns why; refused, its
  // Completion is never called. One of more rows than max_batch_size is served
  // in parts (SplitRequest), which allocates. INVALID_ARGUMENT: more of
  // anything than an empty queue takes. RESOURCE_EXHAUSTED: the queue is full,
  // or so long that the request would expire in it. DEADLINE_EXCEEDED: its
  // deadline has passed. UNAVAILABLE: draining, or the backend is broken.
  // REQUIRES: 0 <= request.level < options().levels.size().
  absl::Status Submit(InferRequest& request);

  // As Submit(); but where this changes what the batcher would do and a short
  // batch could be run by ServeInline(), sets `is_untold`: then the caller has
  // to call Serve() or ServeInline(), soon, once for all that it submits until
  // then. Else `is_untold` is left as it is.
  absl::Status Submit(InferRequest& request, bool& is_untold);

  // Has what was submitted served: by waking a lane, or by a step here.
  void Serve();

  // Serve() for a thread that has nothing else to do: where the lane sleeps and
  // the batch is short, runs it here, as Backend::RunInline() does. Returns
  // whether it ran one. REQUIRES: not called in Completion::Respond().
  bool ServeInline();

  // How long a thread may poll for the next request after ServeInline().
  Duration max_poll() const { return backend_->max_poll(); }

  // Answers the request with CANCELLED if its batch has not closed; else it
  // goes on. Any thread, any number of times, also while Submit() runs.
  // REQUIRES: the caller keeps the request's memory during the call.
  void Cancel(InferRequest& request);

  // Takes no more requests; what was admitted is served.
  void BeginDrain();

  // BeginDrain(), then waits until everything admitted is answered, at most
  // until `until`; what is queued then is answered with UNAVAILABLE, by this
  // call or by whoever steps.
  // DEADLINE_EXCEEDED where `until` was reached first.
  absl::Status Drain(TimePoint until);

  const ModelSpec& spec() const { return backend_->spec(); }
  int32_t lanes() const { return backend_->lanes(); }
  const BatcherOptions& options() const { return options_; }

  Knobs knobs() const;

  // From now on; what is admitted stays admitted. INVALID_ARGUMENT where one is
  // out of range: then none is changed. Calls at the same time may mix.
  absl::Status SetKnobs(const Knobs& knobs);

  // Whether the backend has reported that it is lost.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

  BatcherStatistics Snapshot() const;
  std::vector<DeviceCount> device_counts() const { return backend_->counts(); }

  // With Stepping::kByCaller: does what there is to do now and returns what to
  // wait for. REQUIRES: called from one thread.
  Wait Step();

  // With Stepping::kByCaller: whether somebody has asked for a step since the
  // last one.
  bool WasNotified() const { return events_.HasMovedOn(step_key_); }

  // With Stepping::kByCaller: whether everything admitted is answered.
  bool idle() const { return admission_.requests() == 0 && running_ == 0; }

 private:
  static constexpr int32_t kNoSlots = std::numeric_limits<int32_t>::max();
  static constexpr Outcome kDeviceLost = {absl::StatusCode::kUnavailable,
                                          "model's device is lost"};

  Batcher(std::unique_ptr<Backend> backend, const BatcherOptions& options);

  BatchFormer::Options FormerOptions(const Backend& backend) const;

  // --- any thread ---
  absl::Status Refuse(Refusal reason, const InferRequest& request);
  TimePoint DueOf(const InferRequest& request) const;
  // Whether it may wait on past what is due first, as its level says.
  bool IsToBeDelayed(const InferRequest& request) const;
  bool WouldMiss(const InferRequest& request) const;
  // Rows of one request at most.
  int32_t MaxRequestRows(int32_t level) const;
  Refusal RefusalFor(Admission::Verdict verdict) const;
  void Stamp(InferRequest& request);
  void Push(InferRequest& request);
  void CancelParts(InferRequest& request);
  // Whether a request of that shape, due then, changes what is waited for.
  bool IsNews(TimePoint due, uint64_t shape_key) const;
  // Whether a batch of what is queued would start at once and take no longer
  // than ServeInline() is for.
  bool IsForInline() const;
  bool SlotAwaitsRows() const;
  // Asks for a step, and does it unless another thread is at it.
  void AskForStep();
  // Sees to it that the own thread wakes at that moment, or before.
  void SeeToAlarm(int64_t until_nanos);
  void Staged(Batch& batch) override;
  void ComputeEnded(Batch& batch) override;
  void SlotFree() override;
  void Finished(std::unique_ptr<Batch> batch) override;
  void Resolve(std::unique_ptr<Batch> batch);
  TimePoint LaneAwake() override;
  void LaneBusy() override;
  void Broken(Outcome why) override;

  // Waits for it.
  bool IsDrainedBy(TimePoint until) ABSL_LOCKS_EXCLUDED(drain_mutex_);

  // --- the batcher's own thread ---
  void Run();
  // Sets the alarm to what is waited for. Where that moment has come: whether
  // this thread is the stepper now.
  bool SetAlarm();

  // --- the stepper ---
  // Steps until there is no news, and returns when the next step is due; or
  // leaves the rest to the own thread, and returns kNever.
  TimePoint StepOn(int max_steps);
  bool HasNews() const;
  void PublishWait(const BatchFormer::Choice& choice, int32_t free_slots,
                   const Knobs& knobs);
  void TakePushed();
  void TakeCancelled();
  void TakeComputeEnds();
  void TakeFinished();
  // Returns a moment up to which none is left that has expired.
  TimePoint AnswerExpired();
  void AnswerAll(Outcome outcome);
  void Answer(InferRequest& request, Outcome outcome);
  // The most requests a batch ever holds.
  int32_t MaxRequests() const;
  void Learn(const ServiceTimeSample& sample, uint64_t shape_key);
  // Starts the group's batch, or answers those of it that are cancelled or
  // late, if there are any: then another group may be next.
  void StartBatch(const BatchFormer::Choice& choice, const Knobs& knobs,
                  TimePoint now);
  void TellIfDrained();

  const BatcherOptions options_;
  const Clock& clock_;
  // --- any thread ---
  Admission admission_;
  std::atomic<PolicyKind> policy_;
  std::atomic<int32_t> max_batch_size_;
  std::atomic<int64_t> max_wait_nanos_;
  std::atomic<bool> knobs_changed_{false};
  PushList<InferRequest, &InferRequest::next_pushed> pushed_;
  PushList<InferRequest, &InferRequest::next_cancelled> cancelled_;
  PushList<Batch, &Batch::next_finished> finished_;
  EventCount events_;
  alignas(64) std::atomic<int32_t> free_slots_;
  std::atomic<bool> broken_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> give_up_queued_{false};
  std::array<std::atomic<uint64_t>, kRefusalCount> refused_{};
  std::atomic<int64_t> last_arrival_nanos_{0};
  std::atomic<uint64_t> compute_ends_{0};
  std::atomic<uint64_t> compute_ends_published_{0};  // with wait_forecast_

  // What the stepper leaves to wait for, read by producers. Written before it
  // looks for news once more and leaves, so a producer that reads an older
  // value has pushed before that look.
  alignas(64) std::atomic<int32_t> wake_at_rows_{1};
  std::atomic<int64_t> wait_until_nanos_{0};
  // A request that is due sooner than that after it presses a batch to leave.
  std::atomic<int64_t> pressing_nanos_{0};
  // As Choice::ordered_shape.
  std::atomic<uint64_t> ordered_shape_{0};
  // With that many free slots rows are news to it: it found one fewer.
  std::atomic<int32_t> awaited_slots_{kNoSlots};
  // It found no idle lane, and waits until one is about to be.
  std::atomic<bool> wants_lane_{false};
  // It found no empty batch.
  std::atomic<bool> wants_batch_{false};
  WaitForecast wait_forecast_;
  BatchOrder order_;
  const std::shared_ptr<JoinBudget> join_budget_;

  StepRole step_role_;
  // The stepper has left its role to the own thread.
  std::atomic<bool> is_handed_over_{false};
  // The moment at which the own thread wakes, later than what is waited for
  // where an idle lane wakes for that. Written before it looks at
  // wait_until_nanos_ once more and sleeps.
  std::atomic<int64_t> alarm_nanos_{0};

  // --- stepper only ---
  alignas(64) BatchFormer former_;
  uint64_t compute_ends_taken_ = 0;
  EventCount::Key step_key_ = 0;                 // with Stepping::kByCaller
  std::vector<std::unique_ptr<Batch>> batches_;  // open and empty ones
  int32_t running_ = 0;                          // batches given to the backend

  // --- read by Snapshot() from any thread ---
  BatchStatistics answered_;         // written by the stepper
  std::atomic<double> alpha_ns_{0};  // of the service time
  std::atomic<double> beta_ns_{0};
  Counter service_time_drifts_;
  std::vector<const Batch*> all_batches_;  // constant after construction
  std::vector<Counter> lane_busy_ns_;      // [lane]: written by that lane

  Mutex drain_mutex_;
  CondVar drained_changed_;
  bool drained_ ABSL_GUARDED_BY(drain_mutex_) = false;

  // Destroyed after the thread has ended and before all else: its destructor
  // waits for its threads, which call back.
  std::unique_ptr<Backend> backend_;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BATCHER_H_
