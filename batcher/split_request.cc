// Implements SplitRequest: cuts segments into parts, and joins rows.
#include "batcher/split_request.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "tensor/bytes_elements.h"
#include "tensor/padding.h"
#include "tensor/segment_reader.h"

namespace ferry {
namespace {

constexpr Outcome kNoMemory = {
    absl::StatusCode::kResourceExhausted,
    "outputs of requests larger than a batch need more memory than there is "
    "for them; send fewer rows"};
constexpr Outcome kShapesDiffer = {
    absl::StatusCode::kInternal,
    "model gave the parts of one request outputs of different shapes: expected "
    "rows as large as those of the first part"};

// Whether all rows have the size `row_bytes`.
bool AreOfSize(const OutputTensor& tensor, const OutputRows& rows,
               size_t row_bytes) {
  for (int32_t row = 0; row < rows.count; ++row) {
    if (tensor.Rows(rows.first + row, 1).size != row_bytes) {
      return false;
    }
  }
  return true;
}

// Whether the rows may be joined: they are shaped as those of the first part.
bool FitRows(const JoinedOutput& joined, const OutputRows& rows) {
  const absl::Span<const OutputTensor> tensors = rows.buffer->tensors();
  return std::equal(
      joined.tensors().begin(), joined.tensors().end(), tensors.begin(),
      tensors.end(), [&](const OutputTensor& first, const OutputTensor& next) {
        return first.row_dims == next.row_dims &&
               first.row_starts.empty() == next.row_starts.empty() &&
               (VaryingDim(first.row_dims).has_value()
                    ? AreOfSize(next, rows, first.row_bytes)
                    : first.row_bytes == next.row_bytes);
      });
}

// One input of the whole, handed out row by row.
class RowCutter {
 public:
  RowCutter(const TensorView& input, int32_t rows)
      : reader_(input.segments),
        is_bytes_(input.is_bytes),
        row_bytes_(reader_.left() / static_cast<size_t>(rows)),
        row_elements_(ElementCount(input.dims).value_or(0)) {}

  // Appends the segments of the next rows.
  void Cut(int32_t rows, std::vector<ByteSegment>& to) {
    Check(reader_.Take(BytesOf(rows), to), "an input has all its rows");
  }

 private:
  size_t BytesOf(int32_t rows) const {
    if (!is_bytes_) {
      return static_cast<size_t>(rows) * row_bytes_;
    }
    SegmentReader ahead = reader_;
    Check(SkipBytesElements(ahead, rows * row_elements_),
          "an input has all its elements");
    return reader_.left() - ahead.left();
  }

  SegmentReader reader_;
  const bool is_bytes_;
  const size_t row_bytes_;
  const int64_t row_elements_;
};

// Points the part's inputs at its rows, the next of each cutter.
void CutInputs(const InferRequest& whole, std::vector<RowCutter>& cutters,
               SplitRequest::Part& part) {
  std::vector<size_t> ends;  // [input]: of its segments
  for (RowCutter& cutter : cutters) {
    cutter.Cut(part.rows, part.its_segments);
    ends.push_back(part.its_segments.size());
  }
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    part.its_inputs.push_back(whole.inputs[i]);
    part.its_inputs.back().segments =
        absl::MakeConstSpan(part.its_segments).subspan(begin, ends[i] - begin);
    begin = ends[i];
  }
  part.inputs = part.its_inputs;
}

}  // namespace

SplitRequest::SplitRequest(InferRequest& whole, int32_t max_part_rows,
                           Admission& admission,
                           std::shared_ptr<JoinBudget> budget)
    : whole_(whole),
      admission_(admission),
      budget_(std::move(budget)),
      parts_(static_cast<size_t>(PartsOf(whole.rows, max_part_rows))),
      not_ended_(static_cast<int32_t>(parts_.size())) {
  std::vector<RowCutter> cutters;
  for (const TensorView& input : whole.inputs) {
    cutters.emplace_back(input, whole.rows);
  }
  int32_t first_row = 0;
  for (Part& part : parts_) {
    part.first_row = first_row;
    part.rows = std::min(max_part_rows, whole.rows - first_row);
    first_row += part.rows;
    part.shape_key = whole.shape_key;
    part.level = whole.level;
    part.completion = whole.completion;
    part.part_of = this;
    CutInputs(whole, cutters, part);
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
  Outcome outcome = result.outcome;
  if (outcome.ok() && !has_failed_.load(std::memory_order_relaxed)) {
    outcome = Copy(static_cast<const Part&>(part), result.rows);
  }
  MutexLock lock(mutex_);
  if (outcome_.ok() && !outcome.ok()) {
    outcome_ = outcome;
    has_failed_.store(true, std::memory_order_relaxed);
  }
  if (--not_ended_ > 0) {
    return std::nullopt;
  }
  admission_.ReleaseBytes(whole_.bytes);
  if (outcome_.ok() && !joined_->Finish()) {
    outcome_ = kNoMemory;
  }
  return outcome_.ok() ? RequestResult{outcome_, {joined_, 0, whole_.rows}}
                       : RequestResult{outcome_, {}};
}

JoinedOutput* SplitRequest::RoomFor(const OutputRows& rows, Outcome& outcome) {
  MutexLock lock(mutex_);
  if (joined_ == nullptr) {
    joined_ = JoinedOutput::Create(rows, whole_.rows, parts_.size(), budget_);
    joined_ref_ = OutputRef(joined_);
  }
  if (joined_ == nullptr) {
    outcome = kNoMemory;
  } else if (!FitRows(*joined_, rows)) {
    outcome = kShapesDiffer;
  }
  return outcome.ok() ? joined_ : nullptr;
}

// Without the lock: parts have rows of their own.
Outcome SplitRequest::Copy(const Part& part, const OutputRows& rows) {
  Outcome outcome;
  JoinedOutput* const joined = RoomFor(rows, outcome);
  const auto index = static_cast<size_t>(&part - parts_.data());
  if (joined != nullptr && !joined->Put(index, part.first_row, rows)) {
    outcome = kNoMemory;
  }
  return outcome;
}

std::optional<RequestResult> JoinResult(InferRequest& request,
                                        const RequestResult& result) {
  return request.part_of == nullptr ? result
                                    : request.part_of->Join(request, result);
}

void Respond(InferRequest& request, const RequestResult& result) {
  InferRequest& whole =
      request.part_of == nullptr ? request : request.part_of->whole();
  // The joined rows live until the owner has been told.
  const std::unique_ptr<SplitRequest> parts(
      std::exchange(whole.split, nullptr));
  whole.completion->Respond(result);
}

}  // namespace ferry
