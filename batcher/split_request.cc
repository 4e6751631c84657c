// Cutting runs into parts, and joining rows.
#include "batcher/split_request.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace ferry {
namespace {

constexpr Outcome kNoMemory = {
    absl::StatusCode::kResourceExhausted,
    "outputs of requests larger than a batch need more memory than there is "
    "for them; send fewer rows"};
constexpr Outcome kShapesDiffer = {
    absl::StatusCode::kInternal,
    "model gave the parts of one request outputs of different shapes"};

size_t BytesOf(const OutputBuffer& like, int32_t rows) {
  size_t bytes = 0;
  for (const OutputTensor& tensor : like.tensors()) {
    bytes += tensor.row_bytes * static_cast<size_t>(rows);
  }
  return bytes;
}

// Outputs of a whole request, on the heap.
class JoinedOutput final : public OutputBuffer {
 public:
  // Room for `rows` rows shaped as those of `like`; null without memory.
  static OutputRef Create(const OutputBuffer& like, int32_t rows,
                          const std::shared_ptr<JoinBudget>& budget) {
    const size_t bytes = BytesOf(like, rows);
    if (!budget->TryTake(bytes)) {
      return OutputRef();
    }
    std::unique_ptr<std::byte[]> storage(new (std::nothrow) std::byte[bytes]);
    if (storage == nullptr) {
      budget->GiveBack(bytes);
      return OutputRef();
    }
    return OutputRef(
        new JoinedOutput(like, rows, std::move(storage), budget, bytes));
  }

  bool crowded() const override { return false; }

 private:
  JoinedOutput(const OutputBuffer& like, int32_t rows,
               std::unique_ptr<std::byte[]> storage,
               std::shared_ptr<JoinBudget> budget, size_t bytes)
      : storage_(std::move(storage)),
        budget_(std::move(budget)),
        bytes_(bytes) {
    tensors_.assign(like.tensors().begin(), like.tensors().end());
    std::byte* next = storage_.get();
    for (OutputTensor& tensor : tensors_) {
      tensor.data = next;
      next += tensor.row_bytes * static_cast<size_t>(rows);
    }
  }

  void Recycle() override {
    budget_->GiveBack(bytes_);
    delete this;
  }

  const std::unique_ptr<std::byte[]> storage_;
  const std::shared_ptr<JoinBudget> budget_;
  const size_t bytes_;
};

bool SameRows(const OutputBuffer& a, const OutputBuffer& b) {
  return std::equal(
      a.tensors().begin(), a.tensors().end(), b.tensors().begin(),
      b.tensors().end(), [](const OutputTensor& x, const OutputTensor& y) {
        return x.row_bytes == y.row_bytes && x.row_dims == y.row_dims;
      });
}

// One input of the whole, handed out row by row.
class RowCutter {
 public:
  RowCutter(const TensorView& input, int32_t rows) : runs_(input.runs) {
    for (const Run& run : runs_) {
      row_bytes_ += run.size;
    }
    row_bytes_ /= static_cast<size_t>(rows);
  }

  // Appends the runs of the next rows.
  void Cut(int32_t rows, std::vector<Run>& to) {
    size_t left = static_cast<size_t>(rows) * row_bytes_;
    while (left > 0) {
      const Run& run = runs_.front();
      const size_t taken = std::min(run.size - offset_, left);
      if (taken > 0) {
        to.push_back({run.data + offset_, taken});
      }
      left -= taken;
      offset_ += taken;
      if (offset_ == run.size) {
        runs_.remove_prefix(1);
        offset_ = 0;
      }
    }
  }

 private:
  absl::Span<const Run> runs_;
  size_t row_bytes_ = 0;
  size_t offset_ = 0;  // in the first run
};

// Points the part's inputs at its rows, the next of each cutter.
void CutInputs(const InferRequest& whole, std::vector<RowCutter>& cutters,
               SplitRequest::Part& part) {
  std::vector<size_t> ends;  // [input]: of its runs
  for (RowCutter& cutter : cutters) {
    cutter.Cut(part.rows, part.its_runs);
    ends.push_back(part.its_runs.size());
  }
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    part.its_inputs.push_back(
        {whole.inputs[i].dims,
         absl::MakeConstSpan(part.its_runs).subspan(begin, ends[i] - begin)});
    begin = ends[i];
  }
  part.inputs = part.its_inputs;
}

}  // namespace

bool JoinBudget::TryTake(size_t bytes) {
  const auto mine = static_cast<int64_t>(bytes);
  if (mine < 0 || left_.fetch_sub(mine, std::memory_order_relaxed) < mine) {
    left_.fetch_add(std::max<int64_t>(mine, 0), std::memory_order_relaxed);
    return false;
  }
  return true;
}

SplitRequest::SplitRequest(InferRequest& whole, int32_t max_part_rows,
                           std::shared_ptr<JoinBudget> budget)
    : whole_(whole),
      budget_(std::move(budget)),
      parts_(static_cast<size_t>(PartsOf(whole.rows, max_part_rows))),
      unreleased_(static_cast<int32_t>(parts_.size())),
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
    part.TakeFirstHold();
    CutInputs(whole, cutters, part);
  }
  // The message is kept until the last part is staged, and counts until then.
  parts_.back().bytes = whole.bytes;
}

void SplitRequest::Stamp() {
  for (Part& part : parts_) {
    part.arrival = whole_.arrival;
    part.due = whole_.due;
  }
}

std::optional<Ending> SplitRequest::Join(const InferRequest& part,
                                         const Ending& ending) {
  Outcome outcome = ending.outcome;
  if (outcome.ok() && !has_failed()) {
    outcome = Copy(static_cast<const Part&>(part), ending.rows);
  }
  MutexLock lock(mutex_);
  if (outcome_.ok() && !outcome.ok()) {
    outcome_ = outcome;
    has_failed_.store(true, std::memory_order_relaxed);
  }
  if (--not_ended_ > 0) {
    return std::nullopt;
  }
  return outcome_.ok() ? Ending{outcome_, {joined_.get(), 0, whole_.rows}}
                       : Ending{outcome_, {}};
}

OutputBuffer* SplitRequest::RoomFor(const OutputRows& rows, Outcome& outcome) {
  MutexLock lock(mutex_);
  if (!joined_) {
    joined_ = JoinedOutput::Create(*rows.buffer, whole_.rows, budget_);
    if (!joined_) {
      outcome = kNoMemory;
    }
  } else if (!SameRows(*joined_.get(), *rows.buffer)) {
    outcome = kShapesDiffer;
  }
  return outcome.ok() ? joined_.get() : nullptr;
}

// Without the lock: parts have rows of their own.
Outcome SplitRequest::Copy(const Part& part, const OutputRows& rows) {
  Outcome outcome;
  OutputBuffer* const joined = RoomFor(rows, outcome);
  if (joined == nullptr) {
    return outcome;
  }
  for (size_t i = 0; i < joined->tensors().size(); ++i) {
    const OutputTensor& to = joined->tensors()[i];
    const size_t bytes = to.row_bytes * static_cast<size_t>(rows.count);
    if (bytes > 0) {
      std::memcpy(to.data + to.row_bytes * static_cast<size_t>(part.first_row),
                  rows.buffer->tensors()[i].data +
                      to.row_bytes * static_cast<size_t>(rows.first),
                  bytes);
    }
  }
  return outcome;
}

void SplitRequest::PartReleased() {
  if (unreleased_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    whole_.GiveBackHold();  // which may destroy this
  }
}

}  // namespace ferry
