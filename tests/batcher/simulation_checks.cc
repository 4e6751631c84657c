// What a simulation checks, and the model it checks against.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/batcher/simulation.h"

namespace ferry {

using absl::StatusCode;

// G2, G4: the oldest queued calls, all that fit, none that has ended.
void Simulation::OnStart(const Batch& batch) {
  const BatcherOptions& options = options_.batcher;
  const Open expected = OpenBatch();
  const bool may_wait = options.policy == PolicyKind::kWindow &&
                        expected.can_grow && !IsDraining();
  EXPECT_FALSE(is_broken_) << "a batch was given to a broken backend";
  EXPECT_GE(batch.rows(), 1);
  EXPECT_LE(batch.rows(), options.max_batch_size);
  EXPECT_LE(std::ssize(batch.entries()), options.max_requests_per_batch);
  ASSERT_EQ(batch.entries().size(), expected.requests);
  EXPECT_EQ(batch.rows(), expected.rows);
  if (may_wait) {
    EXPECT_GE(Now(), batch.entries()[0].arrival + options.max_wait)
        << "a window closed early";
  }
  int32_t row = 0;
  for (size_t i = 0; i < batch.entries().size(); ++i) {
    const Batch::Entry& entry = batch.entries()[i];
    Call& call = *queued_[i];
    EXPECT_EQ(entry.request, &call.test.request()) << "not in arrival order";
    EXPECT_FALSE(call.is_cancelled) << "a cancelled call reached the backend";
    EXPECT_GT(entry.request->deadline, Now()) << "an expired call reached it";
    EXPECT_TRUE(
        SameShape(entry.request->inputs, batch.entries()[0].request->inputs));
    EXPECT_EQ(entry.first_row, row);
    EXPECT_EQ(entry.rows, entry.request->rows);
    row += entry.rows;
    call.state = State::kRunning;
  }
  queued_.erase(queued_.begin(),
                queued_.begin() + static_cast<ptrdiff_t>(expected.requests));
}

// G1: each call is told what happened to it.
void Simulation::OnRespond(Call& call) {
  const StatusCode code = call.test.code();
  const bool was_queued = call.state == State::kQueued;
  EXPECT_NE(call.state, State::kOutside) << "answered without being inside";
  if (call.state == State::kRunning) {
    // A destroyed backend ends its batches well, if nothing failed before.
    EXPECT_EQ(code, is_ending_ && call.result == StatusCode{} ? StatusCode::kOk
                                                              : call.result);
    EXPECT_TRUE(code != StatusCode::kOk || call.test.HasOwnRows())
        << "call " << call.test.id() << " got rows of another";
  } else if (code == StatusCode::kCancelled) {
    EXPECT_TRUE(call.is_cancelled);
  } else if (code == StatusCode::kDeadlineExceeded) {
    EXPECT_LE(call.test.request().deadline, Now()) << "expired too early";
  } else {
    EXPECT_EQ(code, StatusCode::kUnavailable);
    EXPECT_TRUE(is_broken_ || is_ending_);
  }
  call.state = State::kOutside;
  call.result = StatusCode{};
  if (was_queued) {
    queued_.erase(std::find(queued_.begin(), queued_.end(), &call));
  }
}

// G3, G4: what must hold while the batcher's thread sleeps.
void Simulation::CheckAtRest() {
  const BatcherOptions& options = options_.batcher;
  for (const Call* call : queued_) {
    EXPECT_FALSE(call->is_cancelled) << "a cancelled call is still queued";
    EXPECT_GT(call->test.request().deadline, Now())
        << "an expired call is still queued";
  }
  EXPECT_TRUE(!is_broken_ || queued_.empty());
  const bool has_room = HasRoom();
  if (has_room && !queued_.empty()) {
    EXPECT_NE(options.policy, PolicyKind::kEager)
        << "a request waits beside a free slot";
    EXPECT_TRUE(OpenBatch().can_grow) << "a closed batch waits";
    EXPECT_FALSE(IsDraining()) << "a batch waits for company in a drain";
    EXPECT_LT(Now(), queued_[0]->test.request().arrival + options.max_wait)
        << "a request waited for longer than max_wait";
  }
  CheckWait(has_room);
}

// The batcher wakes at the earliest moment at which it has to do something.
void Simulation::CheckWait(bool has_room) {
  TimePoint expected = kNever;
  for (const Call* call : queued_) {
    expected = std::min(expected, call->test.request().deadline);
  }
  if (has_room && !queued_.empty()) {
    expected = std::min(expected, queued_[0]->test.request().arrival +
                                      options_.batcher.max_wait);
  }
  // It may have been told an earlier one by a request that ended since.
  EXPECT_LE(wait_.until, expected) << "the batcher would sleep too long";
}

// G5: counted exactly, and within bounds.
void Simulation::CheckCounts() {
  const BatcherStatistics counts = stepped_.batcher().Snapshot();
  EXPECT_EQ(counts.queued_requests, std::ssize(queued_));
  EXPECT_EQ(counts.queued_rows, QueuedRows());
  EXPECT_EQ(counts.queued_bytes, KeptBytes());
  EXPECT_LE(counts.queued_requests, options_.batcher.queue.requests);
  EXPECT_LE(counts.queued_rows, options_.batcher.queue.rows);
  EXPECT_LE(counts.queued_bytes, options_.batcher.queue.bytes);
  EXPECT_LE(static_cast<int32_t>(stepped_.backend().running_count()),
            options_.backend.slots + options_.batcher.max_undelivered_batches);
}

// At the end nothing is left, and every call was counted once.
void Simulation::CheckTotals() {
  EXPECT_TRUE(stepped_.batcher().idle());
  const BatcherStatistics counts = stepped_.batcher().Snapshot();
  EXPECT_EQ(counts.running_batches, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
  uint64_t ended = counts.served.ok_requests();
  for (const Counter& failed : counts.served.failed_requests) {
    ended += failed.value();
  }
  EXPECT_EQ(ended, accepted_count_);
  EXPECT_EQ(counts.refused, refused_count_);
  uint64_t closed = 0;
  for (const Counter& reason : counts.served.closed_batches) {
    closed += reason.value();
  }
  EXPECT_EQ(closed, static_cast<uint64_t>(stepped_.backend().started_count()));
}

std::optional<Refusal> Simulation::ExpectedRefusal(
    const InferRequest& request) const {
  const BatcherOptions& options = options_.batcher;
  if (request.rows > std::min(options.max_batch_size, options.queue.rows) ||
      static_cast<int64_t>(request.bytes) > options.queue.bytes) {
    return Refusal::kTooLarge;
  }
  if (is_broken_) {
    return Refusal::kBroken;
  }
  if (request.deadline <= Now()) {
    return Refusal::kExpired;
  }
  if (is_draining_) {
    return Refusal::kDraining;
  }
  if (std::ssize(queued_) + 1 > options.queue.requests) {
    return Refusal::kQueueRequests;
  }
  if (QueuedRows() + request.rows > options.queue.rows) {
    return Refusal::kQueueRows;
  }
  if (KeptBytes() + static_cast<int64_t>(request.bytes) > options.queue.bytes) {
    return Refusal::kQueueBytes;
  }
  return std::nullopt;
}

// The oldest queued calls that fit together.
Simulation::Open Simulation::OpenBatch() const {
  const BatcherOptions& options = options_.batcher;
  Open open;
  for (const Call* call : queued_) {
    const InferRequest& request = call->test.request();
    if (std::ssize(queued_) > 0 &&
        (!SameShape(request.inputs, queued_[0]->test.request().inputs) ||
         open.rows + request.rows > options.max_batch_size ||
         static_cast<int32_t>(open.requests) ==
             options.max_requests_per_batch)) {
      open.can_grow = false;
      return open;
    }
    ++open.requests;
    open.rows += request.rows;
  }
  open.can_grow =
      open.rows < options.max_batch_size &&
      static_cast<int32_t>(open.requests) < options.max_requests_per_batch;
  return open;
}

// Whether the batcher may start one more batch.
bool Simulation::HasRoom() const {
  const ScriptedBackend& backend = stepped_.backend();
  return backend.free_slots() > 0 &&
         static_cast<int32_t>(backend.running_count()) <
             options_.backend.slots + options_.batcher.max_undelivered_batches;
}

int32_t Simulation::QueuedRows() const {
  int32_t rows = 0;
  for (const Call* call : queued_) {
    rows += call->test.request().rows;
  }
  return rows;
}

// Bytes of what is queued or started and not staged.
int64_t Simulation::KeptBytes() const {
  size_t bytes = 0;
  for (const Call* call : queued_) {
    bytes += call->test.request().bytes;
  }
  const ScriptedBackend& backend = stepped_.backend();
  for (size_t i = 0; i < backend.running_count(); ++i) {
    bytes += backend.is_staged(i) ? 0 : backend.batch(i).bytes();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace ferry
