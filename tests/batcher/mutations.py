"""mutations.py lists mistakes that scripts/mutate.py plants in the batcher.

Each is a text that stands once in its file, and what replaces it. All are found
by some test: a mistake that none finds asks for a test, or is no mistake.
"""

import typing


class Mutation(typing.NamedTuple):
    path: str
    what: str  # the mistake, in words
    old: str
    new: str


SCHEDULER = "batcher/scheduler.cc"
PLANNER = "batcher/internal/batch_planner.cc"
POOL = "batcher/batch.cc"
BATCH = "batcher/batch.cc"

MUTATIONS = [
    # --- submit ---
    Mutation(SCHEDULER, "a request past its deadline is admitted",
             "if (request.due <= request.arrival) {", "if (false) {"),
    Mutation(SCHEDULER, "a request that would miss its deadline is admitted",
             "if (late.has_value() && !request.is_probe) {", "if (false) {"),
    Mutation(SCHEDULER, "no probe is taken",
             "request.is_probe =\n      late.has_value() &&\n"
             "      wait_estimate_.TakeProbe(request.shape_key, request.arrival);",
             "request.is_probe = false;"),
    Mutation(SCHEDULER, "a lost device takes requests",
             "  if (is_device_lost()) {\n    return Refuse(Refusal::kBroken, request);\n  }\n",
             ""),
    Mutation(SCHEDULER, "a request of more bytes than the queue holds is not told so",
             "static_cast<int64_t>(request.bytes) > admission_.bounds().bytes", "false"),
    Mutation(SCHEDULER, "a producer wakes no instance",
             "  Push(request);  // from now on the request may be gone\n  NotifyWaiter();\n",
             "  Push(request);  // from now on the request may be gone\n"),
    Mutation(SCHEDULER, "a producer wakes an instance one row too late",
             "admission_.rows() >= RowsOf(word)", "admission_.rows() > RowsOf(word)"),
    Mutation(SCHEDULER, "a cancel before the push is not looked at",
             "if (is_cancelled || cancels_", "if (cancels_"),
    Mutation(SCHEDULER, "a push after the queue was given up is not looked at",
             "      admission_.closed()) {\n    look_at = arrival;",
             "      false) {\n    look_at = arrival;"),
    Mutation(SCHEDULER, "a producer does not bring the timer",
             "  LowerLook(look_at);\n", ""),
    Mutation(SCHEDULER, "the timer sleeps on where its time is brought forward",
             "      timer_.Notify();\n      return;", "      return;"),
    Mutation(SCHEDULER, "a cancel does not bring the timer",
             "  LowerLook(clock_.Now() + kCancelDelay);\n", ""),
    Mutation(SCHEDULER, "a timeout is counted from the epoch",
             "std::min(request.deadline, request.arrival + timeout)",
             "std::min(request.deadline, TimePoint(timeout))"),
    Mutation(SCHEDULER, "a request may always shorten its level's timeout",
             "(level.may_shorten && request.timeout < timeout)",
             "request.timeout < timeout"),
    Mutation(SCHEDULER, "a timeout replaces the deadline",
             "return std::min(request.deadline, request.arrival + timeout);",
             "return request.arrival + timeout;"),
    Mutation(SCHEDULER, "a delayed request is thought to overtake nothing",
             "  ahead.rows_of_level -= overtaken;\n"
             "  ahead.rows_up_to_level -= overtaken;\n", ""),
    # --- pull ---
    Mutation(SCHEDULER, "a pull does not expire",
             "    ExpireQueued(now, set_aside);\n    const BatchPlanner::Choice",
             "    const BatchPlanner::Choice"),
    Mutation(SCHEDULER, "a permit without work is kept",
             "    if (choice.group == nullptr) {\n      LeaveDevice(instance, now);\n",
             "    if (choice.group == nullptr) {\n"),
    Mutation(SCHEDULER, "an instance passes the gate of a shared device",
             "  return turn.is_let_in;\n", "  return true;\n"),
    Mutation(SCHEDULER, "a late request is never delayed",
             "} else if (IsToBeDelayed(request)) {\n              planner_.Delay(request);",
             "} else if (false) {\n              planner_.Delay(request);"),
    Mutation(SCHEDULER, "an expired request is never delayed",
             "    if (IsToBeDelayed(request)) {\n      planner_.Delay(request);\n    } else {\n"
             "      End(request, EndedInQueue::kExpired, set_aside);",
             "    {\n      End(request, EndedInQueue::kExpired, set_aside);"),
    Mutation(SCHEDULER, "a batch's requests count on in the queue",
             "  admission_.LeaveQueue(static_cast<int32_t>(batch.entries().size()),\n"
             "                        batch.rows());\n", ""),
    Mutation(SCHEDULER, "a batch's requests count on in their level",
             "    admission_.LeaveLevel(entry.level, 1, entry.rows);\n", "    (void)entry;\n"),
    Mutation(SCHEDULER, "an instance is thought free as soon as it begins",
             ".expected = free_at + time", ".expected = free_at"),
    Mutation(SCHEDULER, "two waiters have the alarm",
             "instance.until = another_has_alarm ? kNever : wait.until;",
             "instance.until = wait.until;"),
    Mutation(SCHEDULER, "a busy instance is designated before an idle one",
             "const std::tuple rank(is_busy, instance.until", "const std::tuple rank(!is_busy, instance.until"),
    Mutation(SCHEDULER, "no look at the inbox follows a publication",
             "    if (inbox_.empty()) {\n      return kNone;\n    }\n",
             "    return kNone;\n"),
    Mutation(SCHEDULER, "the word of the last waiter stays",
             "  if (waiter == kNone) {\n    notify_.store(0, std::memory_order_seq_cst);\n",
             "  if (waiter == kNone) {\n"),
    Mutation(SCHEDULER, "a computing instance takes a full batch ahead among levels",
             ".takes_full_early = options_.levels.size() == 1", ".takes_full_early = true"),
    Mutation(SCHEDULER, "a pull does not hand on what stays behind",
             "      wake = Publish(now);\n      PublishEstimate(now);\n      return batch;",
             "      PublishEstimate(now);\n      return batch;"),
    # --- finished ---
    Mutation(SCHEDULER, "nothing is learned",
             "  planner_.Learn(instance.last, instance.last_shape_key);\n", ""),
    Mutation(SCHEDULER, "bytes of a batch are never released",
             "  admission_.ReleaseBytes(batch.bytes());\n", ""),
    Mutation(SCHEDULER, "a shared device is never left",
             "      options_.device->Leave(*in_flight->client, compute, now);\n", ""),
    Mutation(SCHEDULER, "the end of a compute wakes no waiter",
             "      wake = Publish(now);  // it is idle now\n", ""),
    Mutation(SCHEDULER, "a lost device keeps its queue",
             "  admission_.Close();\n  GiveUp(EndedInQueue::kDeviceLost);\n", ""),
    # --- what ends in the queue ---
    Mutation(SCHEDULER, "a request that was cancelled in the inbox runs",
             "    if (request.IsCancelled()) {\n      End(request, EndedInQueue::kCancelled, set_aside);\n"
             "    } else if (given_up_", "    if (given_up_"),
    Mutation(SCHEDULER, "a request that comes after the queue was given up stays",
             "    } else if (given_up_.has_value()) {\n      End(request, *given_up_, set_aside);\n    }\n",
             "    }\n"),
    Mutation(SCHEDULER, "bytes of what ends in the queue are never released",
             "  admission_.ReleaseBytes(request.bytes);\n  request.ended", "  request.ended"),
    Mutation(SCHEDULER, "what ends in the queue counts on in its level",
             "  admission_.LeaveLevel(request.level, 1, request.rows);\n", ""),
    # --- the timer ---
    Mutation(SCHEDULER, "the timer does not look at the inbox again",
             "    if (!inbox_.empty()) {\n      LowerLook(now);\n    } else if", "    if"),
    Mutation(SCHEDULER, "the timer looks at the deadline, not at what is critical before",
             "will_be_critical ? due - critical : due", "due"),
    Mutation(SCHEDULER, "the timer does not expire",
             "    const TimePoint now = clock_.Now();\n    ExpireQueued(now, set_aside);\n"
             "    const TimePoint due",
             "    const TimePoint now = clock_.Now();\n    const TimePoint due"),
    # --- control ---
    Mutation(SCHEDULER, "a drain that takes too long keeps its queue",
             "  GiveUp(EndedInQueue::kStopped);\n  return absl::DeadlineExceededError(",
             "  return absl::DeadlineExceededError("),
    Mutation(SCHEDULER, "runtime options leave the size of parts",
             "    max_part_rows_.store(options.max_batch_size, std::memory_order_relaxed);\n", ""),
    Mutation(SCHEDULER, "runtime options wake no waiter",
             "    PublishEstimate(now);\n    wake = Publish(now);\n  }\n  Wake(wake);\n"
             "  return absl::OkStatus();",
             "    PublishEstimate(now);\n  }\n  Wake(wake);\n  return absl::OkStatus();"),
    # --- the plan ---
    Mutation(PLANNER, "a batch that preserves order takes what came after another shape",
             "        limits.newest = std::min(limits.newest, other->any().arrival);\n",
             "        (void)other;\n"),
    Mutation(PLANNER, "a level with a deficit of a batch is not the most urgent",
             "      return kDeficitOfABatch;\n", "      continue;\n"),
    Mutation(PLANNER, "a small urgent group always goes first",
             "return {has_levels && !last_was_full_ && !IsFull(group),", "return {false,"),
    Mutation(PLANNER, "what would be late in the batch joins it",
             "const bool is_late = next->due < (next->is_probe ? now : end);",
             "const bool is_late = next->due < now;"),
    Mutation(PLANNER, "a batch grows until its first is late",
             "if (first_due != nullptr && first_due->due < end) {", "if (false) {"),
    Mutation(PLANNER, "a batch leaves late for what is critical",
             "- 2 * kMargin;", "+ 10 * kMargin;"),
    Mutation(PLANNER, "a batch is never cut to a bucket",
             "  plan_.CutTo(cheapest);\n", ""),
    Mutation(PLANNER, "a larger size is never tried again",
             "++cut_count_ % kCutsAProbe == 0", "false"),
    Mutation(PLANNER, "an early batch overtakes a group that may yet grow",
             "if (is_early && choice.group != nullptr && least > first) {", "if (false) {"),
    # --- delivery ---
    Mutation(BATCH, "each request has the first's rows",
             "OutputRows{output_.get(), entry.first_row, entry.rows}",
             "OutputRows{output_.get(), 0, entry.rows}"),
    Mutation(BATCH, "a thread that has no time is said to have it",
             "result->has_time = now < reply_until_;", "result->has_time = true;"),
    Mutation(BATCH, "a result may overtake where order is preserved",
             "pool.preserves_order() ? TimePoint() : reply_until;", "reply_until;"),
    Mutation(POOL, "order is not preserved",
             "  if (!preserve_ordering_) {\n", "  if (true) {\n"),
    Mutation(POOL, "an instance that found no batch is not told of one",
             "    on_batch_(id);\n", "    (void)id;\n"),
    Mutation("batcher/cpu_instance.cc", "an exception of a model's compute ends the process",
             "outcome = Guarded([&] { return model_->Compute(batch, output); });",
             "outcome = model_->Compute(batch, output);"),
    Mutation("batcher/cpu_instance.cc", "a batch without output is delivered",
             "if (outcome.ok() && !output) {", "if (false) {"),
    Mutation("batcher/device_instance.cc", "a device instance pulls without room",
             "  while (not_computed_ >= max_in_flight()) {", "  while (false) {"),
    Mutation("batcher/device_instance.cc", "a loss at the copy out is not told",
             "    if (pipeline_.is_lost()) {\n      scheduler.DeviceLost();\n    }\n", ""),
    Mutation("batcher/internal/device_pipeline.cc", "the output of a failed batch is used while the device writes",
             "  if (has_failed) {\n    SettleOutput(in_flight);\n  }\n", ""),
    Mutation("batcher/internal/device_pipeline.cc", "a lost device is used on",
             "    in_flight.outcome = {absl::StatusCode::kInternal, lost};\n", ""),
]
