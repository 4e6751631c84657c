// Implements Simulation's checks against its model.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/batcher/simulation.h"

namespace ferry {

using absl::StatusCode;

// G2, G4: calls of one shape, in order, none that has ended, all that fit.
void Simulation::OnStart(const Batch& batch) {
  EXPECT_FALSE(is_broken_) << "a batch was given to a lost device";
  under_way_.push_back({&batch});
  forecasts_.Started(Now());
  ASSERT_FALSE(batch.entries().empty());
  CheckOrder(batch);
  int32_t row = 0;
  TimePoint oldest = kNever;
  for (const Batch::Entry& entry : batch.entries()) {
    Call& call = calls_[static_cast<size_t>(IdOf(*entry.request))];
    EXPECT_FALSE(call.is_cancelled) << "a cancelled call reached the device";
    EXPECT_GT(entry.request->due, Now()) << "an expired call reached it";
    EXPECT_TRUE(
        SameShape(entry.request->inputs, batch.entries()[0].request->inputs));
    EXPECT_EQ(entry.first_row, row);
    EXPECT_EQ(entry.rows, entry.request->rows);
    row += entry.rows;
    oldest = std::min(oldest, entry.arrival);
    call.state = State::kRunning;
    EXPECT_EQ(std::erase(queued_, &call), 1u) << "it was not queued";
  }
  EXPECT_EQ(batch.rows(), row);
  CheckFill(batch);
  CheckArrivals(batch);
  CheckLevels(batch);
  CheckShares(batch);
}

// The oldest calls of each level leave, in their order, and then its delayed
// ones in theirs; the first of all first where nothing else has a say.
void Simulation::CheckOrder(const Batch& batch) const {
  const absl::Span<const Batch::Entry> entries = batch.entries();
  for (int32_t level = 0; level < std::ssize(options_.scheduler.levels);
       ++level) {
    std::vector<const InferRequest*> started;
    std::vector<const InferRequest*> expected;
    for (const Batch::Entry& entry : entries) {
      if (entry.request->level == level) {
        started.push_back(entry.request);
      }
    }
    for (const Call* call : queued_) {
      const InferRequest& request = call->test.request();
      if (request.level == level &&
          SameShape(request.inputs, entries[0].request->inputs)) {
        expected.push_back(&request);
      }
    }
    std::stable_partition(
        expected.begin(), expected.end(),
        [](const InferRequest* request) { return !request->is_delayed; });
    expected.resize(std::min(expected.size(), started.size()));
    EXPECT_EQ(started, expected) << "not in arrival order";
  }
  if (runtime_.policy == PolicyKind::kEager &&
      options_.scheduler.levels.size() == 1) {
    const auto first = std::min_element(
        queued_.begin(), queued_.end(), [](const Call* a, const Call* b) {
          return !a->test.request().is_delayed && b->test.request().is_delayed;
        });
    EXPECT_EQ(entries[0].arrival, (*first)->test.request().arrival)
        << "a younger shape left first";
  }
}

// After those that left were taken from the model: where order is preserved
// no older call is left behind, whatever its shape.
void Simulation::CheckArrivals(const Batch& batch) const {
  if (!options_.scheduler.preserve_ordering) {
    return;
  }
  for (const Call* call : queued_) {
    EXPECT_GT(call->test.request().arrival, batch.entries().back().arrival)
        << "call " << call->test.id() << " was overtaken";
  }
}

// After those that left were taken from the model: in one shape no call joins,
// and none is left behind, after a less urgent one, but for what that one's
// level's deficit is; or for its first where that is a whole batch.
void Simulation::CheckLevels(const Batch& batch) const {
  const absl::Span<const Batch::Entry> entries = batch.entries();
  // The most urgent level of those that come after an entry.
  int32_t after = kMaxLevels;
  for (const Call* call : queued_) {
    if (SameShape(call->test.request().inputs, entries[0].request->inputs)) {
      after = std::min(after, call->test.request().level);
    }
  }
  std::array<int32_t, kMaxLevels> rows{};  // of each level, up to an entry
  for (const Batch::Entry& entry : entries) {
    rows[static_cast<size_t>(entry.level)] += entry.rows;
  }
  for (size_t i = entries.size(); i-- > 0;) {
    const auto level = static_cast<size_t>(entries[i].level);
    if (after < entries[i].level &&
        (rows[level] > entries[i].rows || !shares_[level].has_full_deficit)) {
      EXPECT_LE(rows[level], shares_[level].deficit_rows + 1e-6)
          << "of level " << level << " before more urgent ones";
    }
    after = std::min(after, entries[i].level);
    rows[level] -= entries[i].rows;
  }
}

// The deficit of a level that waits grows by 5.5 % of the rows that start, to a
// largest batch at most, and the level has 5 % of them, but for that batch and
// a request that is as large.
void Simulation::CheckShares(const Batch& batch) {
  std::array<int32_t, kMaxLevels> rows{};
  for (const Batch::Entry& entry : batch.entries()) {
    rows[static_cast<size_t>(entry.level)] += entry.rows;
  }
  for (int32_t level = 1; level < std::ssize(options_.scheduler.levels);
       ++level) {
    Share& share = shares_[static_cast<size_t>(level)];
    if (QueuedRequests(level) == 0) {
      share = {};
      continue;
    }
    const int32_t own_rows = rows[static_cast<size_t>(level)];
    const auto most =
        static_cast<double>(std::max(runtime_.max_batch_size, batch.rows()));
    share.deficit_rows = std::clamp(
        share.deficit_rows + LevelShares::kFloor * batch.rows() - own_rows, 0.0,
        most);
    share.has_full_deficit = share.deficit_rows >= most;
    share.started_rows += batch.rows();
    share.own_rows += own_rows;
    EXPECT_GE(static_cast<double>(share.own_rows +
                                  2 * options_.scheduler.max_batch_size),
              0.05 * static_cast<double>(share.started_rows))
        << "level " << level << " starves";
  }
}

// After those that left were taken from the model: no call that fits was left
// behind, and a window closes when it is full or its time has come.
void Simulation::CheckFill(const Batch& batch) const {
  const absl::Span<const Batch::Entry> entries = batch.entries();
  const InferRequest& first = *entries[0].request;
  EXPECT_TRUE(batch.rows() <= runtime_.max_batch_size || entries.size() == 1);
  EXPECT_LE(std::ssize(entries), options_.scheduler.max_requests_per_batch);
  bool is_full =
      batch.rows() >= runtime_.max_batch_size ||
      std::ssize(entries) >= options_.scheduler.max_requests_per_batch;
  bool has_left_behind = false;
  // A batch may leave with fewer so that one of it is in time, or to fill a
  // bucket.
  bool is_cut = !options_.scheduler.buckets.empty();
  bool may_press = false;  // a deadline of one of it
  TimePoint oldest = kNever;
  for (const Batch::Entry& entry : entries) {
    may_press = may_press || entry.request->due != kNever;
    oldest = std::min(oldest, entry.arrival);
  }
  is_cut = is_cut || (MayForecast() && may_press);
  for (const Call* call : queued_) {
    if (SameShape(call->test.request().inputs, first.inputs) &&
        !IsBehindAnother(call->test.request())) {
      has_left_behind = true;
      is_full = is_full || !Fits(entries.size(), batch.rows(), *call);
    }
  }
  EXPECT_TRUE(is_full || is_cut || !has_left_behind)
      << "a call that fits was left";
  is_full = is_full || IsClosedByAnother(first);
  if (IsDraining() || is_full || is_cut) {
    return;
  }
  if (runtime_.policy == PolicyKind::kWindow && !may_press &&
      !IsEnough(batch.rows())) {
    EXPECT_GE(Now(), oldest + runtime_.max_wait) << "a window closed early";
  }
}

// G1: each call is told what happened to it.
void Simulation::OnRespond(Call& call) {
  const StatusCode code = call.test.code();
  const bool was_queued = call.state == State::kQueued;
  EXPECT_NE(call.state, State::kOutside) << "answered without being inside";
  if (call.state == State::kRunning) {
    // What runs at the end ends well, if nothing failed before.
    EXPECT_EQ(code, is_ending_ && call.result == StatusCode{} ? StatusCode::kOk
                                                              : call.result);
    EXPECT_TRUE(code != StatusCode::kOk || call.test.HasOwnRows())
        << "call " << call.test.id() << " got rows of another";
    CheckReplyOrder(call.test.request());
  } else if (code == StatusCode::kCancelled) {
    EXPECT_TRUE(call.is_cancelled);
  } else if (code == StatusCode::kDeadlineExceeded) {
    const bool is_dropped =
        absl::string_view(call.test.completion().outcome().text) ==
        "request would have passed its deadline before it was answered";
    if (is_dropped) {
      CheckDropped(call.test.request());
    } else {
      EXPECT_LE(call.test.request().due, Now()) << "expired too early";
    }
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

// Where order is preserved results leave as their calls arrived, failed ones
// among them; what never started is answered when that is known.
void Simulation::CheckReplyOrder(const InferRequest& request) {
  if (options_.scheduler.preserve_ordering) {
    EXPECT_GT(request.arrival, last_replied_) << "a reply overtook another";
    last_replied_ = request.arrival;
  }
}

// G3, G4: what must hold while all threads sleep.
void Simulation::CheckAtRest() {
  for (const Call* call : queued_) {
    EXPECT_TRUE(!call->is_cancelled ||
                Now() < call->cancelled_at + Milliseconds(1))
        << "a cancelled call is still queued";
    EXPECT_GT(call->test.request().due, Now())
        << "an expired call is still queued";
  }
  EXPECT_TRUE(!is_broken_ || queued_.empty());
  const bool has_room = HasRoom();
  if (has_room && !queued_.empty()) {
    EXPECT_NE(runtime_.policy, PolicyKind::kEager)
        << "a request waits beside an idle instance";
    EXPECT_FALSE(IsDraining()) << "a batch waits for company in a drain";
  }
  if (has_room) {
    for (const Call* call : queued_) {
      EXPECT_LT(Now(), call->test.request().arrival + runtime_.max_wait)
          << "a request waited for longer than max_wait";
      EXPECT_TRUE(CanGrow(*call)) << "a full batch waits";
    }
  }
  CheckWait(has_room);
}

// A thread wakes at the earliest moment at which there is something to do.
void Simulation::CheckWait(bool has_room) {
  TimePoint expected = kNever;
  for (const Call* call : queued_) {
    expected = std::min(expected, call->test.request().due);
    if (has_room) {
      expected =
          std::min(expected, call->test.request().arrival + runtime_.max_wait);
    }
  }
  // It may have been told an earlier one by a request that ended since.
  EXPECT_LE(stepped_.next_step(), expected)
      << "its threads would sleep too long";
  if (has_room && !queued_.empty()) {
    EXPECT_NE(stepped_.next_step(), kNever)
        << "nothing would close the next batch";
  }
}

// G5: counted exactly, and within bounds.
void Simulation::CheckCounts() {
  const SchedulerStatistics counts = stepped_.scheduler().Snapshot();
  EXPECT_EQ(counts.queued_requests, std::ssize(queued_));
  EXPECT_EQ(counts.queued_rows, QueuedRows());
  EXPECT_EQ(counts.queued_bytes, KeptBytes());
  EXPECT_LE(counts.queued_requests, bounds_.requests);
  EXPECT_LE(counts.queued_rows, bounds_.rows);
  EXPECT_LE(counts.queued_bytes, bounds_.bytes);
  // What is above a bound that was lowered leaves, and no call replaces it.
  bounds_ = {
      .requests = std::max(runtime_.queue.requests, counts.queued_requests),
      .rows = std::max(runtime_.queue.rows, counts.queued_rows),
      .bytes = std::max(runtime_.queue.bytes, counts.queued_bytes)};
  EXPECT_LE(std::ssize(under_way_), MostUnderWay());
}

// At the end nothing is left, and every call was counted once.
void Simulation::CheckTotals() {
  EXPECT_TRUE(stepped_.scheduler().IsIdle());
  const SchedulerStatistics counts = stepped_.scheduler().Snapshot();
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
  EXPECT_EQ(closed,
            static_cast<uint64_t>(stepped_.instances().started_count()));
}

}  // namespace ferry
