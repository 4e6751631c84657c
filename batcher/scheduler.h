// Scheduler queues the requests of one model version and hands them, in
// batches, to the instances that pull. Start here.
//
// gRPC threads call Submit(): admission by counters, one push into the
// lock-free inbox, and at most one wake-up. The batcher thread of each instance
// calls NextBatch(), which sleeps until the policy says that a batch leaves.
// Under one mutex the puller takes the inbox into the queue, sets aside what
// expired or was cancelled, plans, and leaves with a batch or publishes what it
// waits for. A timer thread expires what is queued while every instance is
// busy. What was set aside is answered after the mutex is released.
//
// Guarantees (numbers of docs/architecture.md; tests cite them):
//   G1  Every accepted request is answered exactly once: with its own rows, or
//       with an error.
//   G2  A batch holds 1..max_batch_size rows of one shape; a request's rows
//       stay together, or in parts of a whole batch where they are more, and
//       in order; requests of one shape and level start in arrival order,
//       those that their level delays after the others.
//   G3  Under `eager` no request waits while an instance is idle; under
//       `window` and `adaptive` none waits longer than max_wait and 1 ms while
//       one is.
//   G4  A request that is cancelled or past its deadline when its batch closes,
//       or would be when it ends, never reaches the device. One that expires or
//       is cancelled while queued is answered within 1 ms, by the timer, if
//       that thread gets a processor.
//   G5  The queue is bounded in requests, rows and bytes, and the batches under
//       way by the instances' and max_undelivered_batches.
//
// Why no wake-up is lost. Two words are published under the mutex:
//   notify_   {rows, instance}: the designated waiter, and the number of queued
//             rows at which it is to be woken; 0: none waits for rows.
//   look_at_  the moment at which the timer looks at the queue again.
// A producer counts its rows, pushes, then looks: if the counted rows reach
// notify_'s it claims the word (compare-and-swap to 0) and wakes that instance;
// if its request is due before look_at_ it lowers look_at_ and wakes the timer.
// A puller drains the inbox, plans, publishes, then looks at the inbox once
// more; the timer does the same; the mutex is held all the while. All of these
// are sequentially consistent: either the push comes before that last look, and
// the puller or the timer begins again, or after it, hence after the
// publication, and the producer sees the word. Both give the mutex back before
// they begin again, so that a storm of requests or cancels does not prolong
// what they do with it. A failed claim needs no retry: another producer
// claimed, and its instance drains after this push; or a puller published after
// it, and looks after that. An instance that leaves publishes for those that
// still wait, and wakes the designated one where requests stay behind for it.
// tests/batcher/model checks every interleaving of this.
//
// Thread safety: thread-safe, except the destructor. A gRPC thread never takes
// the mutex. Steady state allocates nothing per request.
// Memory ordering: what the caller wrote into a request before Submit() is
// visible to the instance; what that wrote into the output, in Respond().
#ifndef FERRY_BATCHER_SCHEDULER_H_
#define FERRY_BATCHER_SCHEDULER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/event_count.h"
#include "base/mutex.h"
#include "base/push_list.h"
#include "batcher/batch.h"
#include "batcher/device_share.h"
#include "batcher/infer_request.h"
#include "batcher/instance.h"
#include "batcher/internal/admission.h"
#include "batcher/internal/batch_planner.h"
#include "batcher/internal/split_request.h"
#include "batcher/internal/wait_estimate.h"
#include "batcher/scheduler_options.h"
#include "batcher/statistics.h"

namespace ferry {

// What a caller that pulls by itself stands for (tests, simulations).
struct PulledInstances {
  InstanceDescription each = {};
  int32_t count = 1;
};

class Scheduler {
 public:
  // Starts the instances, one at least, and the timer. Errors: INVALID_ARGUMENT
  // where an option is out of range, or the clock is not the system's, on which
  // threads sleep.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      std::vector<std::unique_ptr<Instance>> instances,
      const SchedulerOptions& options);

  // A scheduler without threads: its caller pulls with TryNextBatch(), runs the
  // timer with LookAtQueue(), and may turn the clock.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(
      const PulledInstances& instances, const SchedulerOptions& options);

  // Answers what is still queued with UNAVAILABLE and waits for what runs.
  // REQUIRES: no other call is under way or follows.
  ~Scheduler();

  // --- callers ---

  // Accepts the request, or refuses it and returns why; refused, its
  // Completion is never called. Of more rows than max_batch_size it is served
  // in parts (SplitRequest) where options say so, which allocates; where that
  // throws, it is not accepted. INVALID_ARGUMENT: more of anything than an
  // empty queue takes, or more rows than a batch holds where none is split.
  // RESOURCE_EXHAUSTED: the queue is full, or so long that the request would
  // expire in it. DEADLINE_EXCEEDED: its deadline has passed. UNAVAILABLE:
  // draining, or the device is lost. REQUIRES: 0 <= request.level <
  // options().levels.size().
  absl::Status Submit(InferRequest& request);

  // Answers the request with CANCELLED if its batch has not closed; else it
  // goes on. Any number of times, also while Submit() runs, or after its end.
  // REQUIRES: the caller keeps the request's memory during the call.
  void Cancel(InferRequest& request);

  // --- batcher threads ---

  // Returns the instance's next batch; waits until the policy says that one
  // leaves. Null: the scheduler is stopped.
  BatchPtr NextBatch(InstanceId id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Does what NextBatch() does, but returns null instead of waiting.
  BatchPtr TryNextBatch(InstanceId id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The compute of a batch that NextBatch() returned has ended. The scheduler
  // keeps `times` in the batch. Then the instance calls Deliver().
  void Finished(Batch& batch, InstanceId id, const BatchTimes& times,
                Computed computed) ABSL_LOCKS_EXCLUDED(mutex_);

  // The device is lost: takes no more requests, and answers what is queued with
  // UNAVAILABLE. Finished() does that for kDeviceLost; an instance calls this
  // where it learns of the loss later. Any number of times.
  void DeviceLost() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- control ---

  // Takes no more requests; what was admitted is served.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_);

  // BeginDrain(), then waits until everything admitted is answered, at most
  // until `until`; then it answers what is queued with UNAVAILABLE.
  // DEADLINE_EXCEEDED where `until` was reached first.
  absl::Status Drain(TimePoint until) ABSL_LOCKS_EXCLUDED(mutex_);

  const SchedulerOptions& options() const { return options_; }
  int32_t instance_count() const {
    return static_cast<int32_t>(instances_.size());
  }
  const ModelSpec& spec() const { return spec_; }
  std::vector<DeviceCount> device_counts() const;

  RuntimeOptions runtime_options() const ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on; what is admitted stays admitted. INVALID_ARGUMENT where one is
  // out of range: then none is changed.
  absl::Status SetRuntimeOptions(const RuntimeOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether the device is lost.
  bool is_device_lost() const {
    return is_device_lost_.load(std::memory_order_relaxed);
  }

  SchedulerStatistics Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

  // --- tests and simulations, without threads ---

  // Does the timer's work: answers what has expired or was cancelled.
  void LookAtQueue() ABSL_LOCKS_EXCLUDED(mutex_);
  // When that is due.
  TimePoint look_at() const {
    return FromNanos(look_at_.load(std::memory_order_seq_cst));
  }
  // When to call TryNextBatch() again where it returned null, and whether that
  // is due before.
  TimePoint PullAt(InstanceId id) const ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsNotified(InstanceId id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The rows at which a producer wakes an instance; Wait::kNoRows: at none.
  int32_t NotifyAtRows() const;
  // Whether everything admitted is answered.
  bool IsIdle() const;

 private:
  static constexpr InstanceId kNone = -1;
  // A place in flight of an instance, for the share of its device.
  struct Client final : ShareClient {
    Client(ModelShare& its_share, EventCount& its_wake)
        : ShareClient(its_share), wake(its_wake) {}
    void TurnCame() override { wake.Notify(); }

    EventCount& wake;
  };

  // One instance, as the scheduler sees it. The mutex guards all but `wake`,
  // `clients` and `busy_ns`.
  struct InstanceRecord {
    EventCount wake;             // its batcher thread sleeps here
    std::deque<Client> clients;  // [batch % max_in_flight_]
    Counter busy_ns;

    struct InFlight {
      const Batch* batch;
      Client* client;
      TimePoint begin;  // the instance took it, or first asked for the device
      TimePoint expected;  // end of its compute
    };
    std::vector<InFlight> in_flight;  // pulled and not finished, oldest first
    int64_t taken = 0;                // batches
    // The end of its last compute, until it pulls again; kNever: it has pulled.
    TimePoint delivers_since = kNever;

    // What it waits for, if it waits.
    bool is_waiting = false;
    bool is_blocked = false;  // not for rows: for the device, or a batch
    int64_t wait_number = 0;
    TimePoint until = kNever;
    EventCount::Key key = 0;
    // When it first asked for the device; kNever: it does not wait for that.
    TimePoint asked_at = kNever;

    // Its last batch, until it pulls the next: one without pipeline takes that
    // long. Zero rows: none, or it failed.
    ServiceTimeSample last = {.rows = 0};
    TimePoint last_begin;
    uint64_t last_shape_key = 0;
  };

  // Requests that ended in the queue, linked by `next`; they are answered
  // without the mutex.
  struct SetAside {
    InferRequest* first = nullptr;
  };

  Scheduler(std::vector<std::unique_ptr<Instance>> own_instances,
            const PulledInstances& instances, const SchedulerOptions& options);

  // --- any thread, without the mutex ---
  // `finish` is LateFinish() of one that would miss its deadline; kTooLarge has
  // `max_part_rows`.
  absl::Status Refuse(Refusal reason, const InferRequest& request,
                      TimePoint finish = {}, int32_t max_part_rows = 0);
  TimePoint DueOf(const InferRequest& request) const;
  // Whether it may wait on past what is due first, as its level says.
  bool IsToBeDelayed(const InferRequest& request) const {
    return options_.levels[static_cast<size_t>(request.level)].delays_late &&
           request.due < request.deadline;
  }
  // Returns when it would be answered, where that is past what is due.
  std::optional<TimePoint> LateFinish(const InferRequest& request) const;
  int32_t MaxRequestRows(int32_t level, int32_t max_part_rows) const;
  void Push(InferRequest& request);
  void NotifyWaiter();
  void Wake(InstanceId id);  // or none, for kNone
  void LowerLook(TimePoint at);
  void Answer(SetAside& set_aside);

  // --- with the mutex ---
  BatchPtr Pull(InstanceId id, SetAside& set_aside, InstanceId& wake)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place in flight of the batch that it takes next.
  Client& NextClient(InstanceRecord& instance) const {
    return instance
        .clients[static_cast<size_t>(instance.taken % max_in_flight_)];
  }
  // Returns whether the instance may compute now; else sets when to ask again.
  bool EnterDevice(InstanceRecord& instance, TimePoint now, Wait& wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the permit back that EnterDevice() got for no batch.
  void LeaveDevice(InstanceRecord& instance, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills the batch with the group's plan. False: requests were set aside.
  bool Fill(Batch& batch, InstanceRecord& instance,
            const BatchPlanner::Choice& choice, TimePoint now,
            SetAside& set_aside) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginWait(InstanceRecord& instance, const Wait& wait, bool is_blocked,
                 TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Publishes what the designated waiter waits for, and looks at the inbox once
  // more. Returns the instance to wake, or kNone.
  InstanceId Publish(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  InstanceId DesignatedWaiter(TimePoint now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PublishEstimate(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeInbox(SetAside& set_aside) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpireQueued(TimePoint now, SetAside& set_aside)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeCancelled(SetAside& set_aside) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a queued request out of the queue, to be answered so.
  void End(InferRequest& request, EndedInQueue how, SetAside& set_aside)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LearnLast(InstanceRecord& instance, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  InstanceState StateOf(const InstanceRecord& instance, TimePoint now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static TimePoint FreeAt(const InstanceRecord& instance, TimePoint now) {
    return instance.in_flight.empty()
               ? now
               : std::max(now, instance.in_flight.back().expected);
  }

  // From now on what is queued is answered so.
  void GiveUp(EndedInQueue how) ABSL_LOCKS_EXCLUDED(mutex_);
  void RunTimer();
  InstanceRecord& record(InstanceId id) {
    return instances_[static_cast<size_t>(id)];
  }

  const SchedulerOptions options_;
  const Clock& clock_;
  const ModelSpec spec_;
  const int32_t max_in_flight_;
  const bool has_threads_;
  const std::shared_ptr<JoinBudget> join_budget_;

  // --- any thread ---
  Admission admission_;
  WaitEstimate wait_estimate_;
  PushList<InferRequest, &InferRequest::next> inbox_;
  std::array<std::atomic<uint64_t>, kRefusalCount> refused_{};
  std::atomic<uint64_t> cancels_{0};
  // How long before it is due a request may be critical, for producers.
  std::atomic<int64_t> critical_ns_{0};
  std::atomic<int32_t> max_part_rows_;
  std::atomic<bool> is_device_lost_{false};

  // The published words.
  alignas(64) std::atomic<uint64_t> notify_{0};
  alignas(64) std::atomic<int64_t> look_at_{ToNanos(kNever)};

  // --- instances and timer ---
  ModelShare share_;
  std::deque<InstanceRecord> instances_;
  EventCount timer_;

  alignas(64) mutable Mutex mutex_;
  BatchPlanner planner_ ABSL_GUARDED_BY(mutex_);
  Duration staging_ ABSL_GUARDED_BY(mutex_){0};  // a moving average
  TimePoint last_arrival_ ABSL_GUARDED_BY(mutex_);
  int64_t closed_count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t cancels_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t waits_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // What is queued, and what comes yet, is answered so.
  std::optional<EndedInQueue> given_up_ ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;

  // What was answered without a batch.
  mutable Mutex answers_mutex_;
  BatchStatistics answered_ ABSL_GUARDED_BY(answers_mutex_);

  BatchPool pool_;
  std::vector<std::unique_ptr<Instance>> own_instances_;
  std::thread timer_thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SCHEDULER_H_
