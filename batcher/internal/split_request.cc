// Implements SplitRequest: cuts segments into parts, and joins rows.
#include "batcher/internal/split_request.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "tensor/bytes_elements.h"
#include "tensor/segment_reader.h"

namespace ferry {
namespace {

// Returns the size in bytes of the next `rows` of the `rows_left` of an input
// that `reader` has yet to read.
size_t BytesOf(const TensorView& input, const SegmentReader& reader,
               int32_t rows, int32_t rows_left) {
  if (!input.is_bytes) {
    return reader.left() / static_cast<size_t>(rows_left) *
           static_cast<size_t>(rows);
  }
  SegmentReader ahead = reader;
  Check(SkipBytesElements(ahead, rows * ElementCount(input.dims).value_or(0)),
        "an input has all its elements");
  return reader.left() - ahead.left();
}

}  // namespace

SplitRequest::SplitRequest(InferRequest& whole, int32_t max_part_rows,
                           Admission& admission,
                           std::shared_ptr<JoinBudget> budget)
    : whole_(whole),
      admission_(admission),
      parts_(static_cast<size_t>(PartsOf(whole.rows, max_part_rows))),
      not_ended_(parts_.size()),
      joined_(*new JoinedOutput(whole.rows, std::move(budget))),
      joined_ref_(&joined_) {
  int32_t first_row = 0;
  for (Part& part : parts_) {
    part.first_row = first_row;
    part.rows = std::min(max_part_rows, whole.rows - first_row);
    first_row += part.rows;
    part.shape_key = whole.shape_key;
    part.level = whole.level;
    part.completion = whole.completion;
    part.part_of = this;
    part.its_inputs.assign(whole.inputs.begin(), whole.inputs.end());
    part.its_segments.resize(whole.inputs.size());
  }
  for (size_t i = 0; i < whole.inputs.size(); ++i) {
    SegmentReader reader(whole.inputs[i].segments);
    for (Part& part : parts_) {
      const size_t bytes = BytesOf(whole.inputs[i], reader, part.rows,
                                   whole.rows - part.first_row);
      Check(reader.Take(bytes, part.its_segments[i]),
            "an input has all its rows");
      part.its_inputs[i].segments = part.its_segments[i];
    }
  }
  for (Part& part : parts_) {
    part.inputs = part.its_inputs;
  }
}

void SplitRequest::Stamp() {
  for (Part& part : parts_) {
    part.arrival = whole_.arrival;
    part.due = whole_.due;
    part.deadline = whole_.deadline;
    part.is_probe = whole_.is_probe;
  }
}

std::optional<RequestResult> SplitRequest::Join(const InferRequest& part,
                                                const RequestResult& result) {
  Outcome failure;
  {
    MutexLock lock(mutex_);
    compute_ += result.compute;
    const bool was_ok = outcome_.ok();
    if (was_ok) {
      outcome_ = result.outcome.ok()
                     ? joined_.Put(static_cast<const Part&>(part).first_row,
                                   result.rows)
                     : result.outcome;
    }
    if (!was_ok || outcome_.ok() || not_ended_ == 1) {
      return PartEnded();
    }
    has_failed_.store(true, std::memory_order_relaxed);
    failure = outcome_;
  }
  // The part counts until the owner has heard: Respond() does not overtake.
  whole_.completion->FailEarly(failure);
  MutexLock lock(mutex_);
  return PartEnded();
}

std::optional<RequestResult> SplitRequest::PartEnded() {
  --not_ended_;
  if (outcome_.ok() && not_ended_ == 0) {
    outcome_ = joined_.Finish();
  }
  if (!outcome_.ok()) {
    has_failed_.store(true, std::memory_order_relaxed);
  }
  if (not_ended_ > 0) {
    return std::nullopt;
  }
  admission_.ReleaseBytes(whole_.bytes);
  return RequestResult{
      outcome_,
      outcome_.ok() ? OutputRows{&joined_, 0, whole_.rows} : OutputRows{},
      compute_};
}

void SplitRequest::Respond(const RequestResult& result) {
  // The joined rows live until the owner has been told.
  const std::unique_ptr<SplitRequest> self(
      std::exchange(whole_.split, nullptr));
  whole_.completion->Respond(result);
}

bool InferRequest::IsCancelled() const {
  return part_of == nullptr ? cancelled.load(std::memory_order_seq_cst)
                            : part_of->IsOfNoUse();
}

}  // namespace ferry
