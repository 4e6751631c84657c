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
    "no memory for the outputs of a request larger than a batch"};
constexpr Outcome kShapesDiffer = {
    absl::StatusCode::kInternal,
    "model gave the parts of one request outputs of different shapes"};

// Outputs of a whole request, on the heap.
class JoinedOutput final : public OutputBuffer {
 public:
  // Room for `rows` rows shaped as those of `like`; null without memory.
  static OutputRef Create(const OutputBuffer& like, int32_t rows) {
    size_t bytes = 0;
    for (const OutputTensor& tensor : like.tensors()) {
      bytes += tensor.row_bytes * static_cast<size_t>(rows);
    }
    std::unique_ptr<std::byte[]> storage(new (std::nothrow) std::byte[bytes]);
    return storage == nullptr
               ? OutputRef()
               : OutputRef(new JoinedOutput(like, rows, std::move(storage)));
  }

  bool crowded() const override { return false; }

 private:
  JoinedOutput(const OutputBuffer& like, int32_t rows,
               std::unique_ptr<std::byte[]> storage)
      : storage_(std::move(storage)) {
    tensors_.assign(like.tensors().begin(), like.tensors().end());
    std::byte* next = storage_.get();
    for (OutputTensor& tensor : tensors_) {
      tensor.data = next;
      next += tensor.row_bytes * static_cast<size_t>(rows);
    }
  }

  void Recycle() override { delete this; }

  const std::unique_ptr<std::byte[]> storage_;
};

bool SameRows(const OutputBuffer& a, const OutputBuffer& b) {
  return std::equal(
      a.tensors().begin(), a.tensors().end(), b.tensors().begin(),
      b.tensors().end(), [](const OutputTensor& x, const OutputTensor& y) {
        return x.row_bytes == y.row_bytes && x.row_dims == y.row_dims;
      });
}

// Appends to `to` the runs of bytes [begin, begin + size) of `runs`.
void AppendSlice(absl::Span<const Run> runs, size_t begin, size_t size,
                 std::vector<Run>& to) {
  for (const Run& run : runs) {
    if (size == 0) {
      return;
    }
    if (begin >= run.size) {
      begin -= run.size;
      continue;
    }
    const size_t taken = std::min(run.size - begin, size);
    to.push_back({run.data + begin, taken});
    size -= taken;
    begin = 0;
  }
}

// Points the part's inputs at its rows within those of the whole.
void SliceInputs(const InferRequest& whole, SplitRequest::Part& part) {
  std::vector<size_t> ends;  // [input]: of its runs
  for (const TensorView& input : whole.inputs) {
    size_t bytes = 0;
    for (const Run& run : input.runs) {
      bytes += run.size;
    }
    const size_t row_bytes = bytes / static_cast<size_t>(whole.rows);
    AppendSlice(input.runs, static_cast<size_t>(part.first_row) * row_bytes,
                static_cast<size_t>(part.rows) * row_bytes, part.its_runs);
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

SplitRequest::SplitRequest(InferRequest& whole, int32_t max_part_rows)
    : whole_(whole),
      parts_(static_cast<size_t>(PartsOf(whole.rows, max_part_rows))),
      unreleased_(static_cast<int32_t>(parts_.size())),
      not_ended_(static_cast<int32_t>(parts_.size())) {
  int32_t first_row = 0;
  for (Part& part : parts_) {
    part.first_row = first_row;
    part.rows = std::min(max_part_rows, whole.rows - first_row);
    first_row += part.rows;
    part.shape_key = whole.shape_key;
    part.level = whole.level;
    part.arrival = whole.arrival;
    part.due = whole.due;
    part.completion = whole.completion;
    part.part_of = this;
    part.TakeFirstHold();
    SliceInputs(whole, part);
  }
  // The message is kept until the last part is staged, and counts until then.
  parts_.back().bytes = whole.bytes;
}

std::optional<Ending> SplitRequest::Join(const InferRequest& part,
                                         const Ending& ending) {
  MutexLock lock(mutex_);
  if (outcome_.ok()) {
    outcome_ = ending.outcome.ok()
                   ? Keep(static_cast<const Part&>(part), ending.rows)
                   : ending.outcome;
    if (!outcome_.ok()) {
      for (Part& other : parts_) {
        other.cancelled.store(true, std::memory_order_seq_cst);
      }
    }
  }
  if (--not_ended_ > 0) {
    return std::nullopt;
  }
  return outcome_.ok() ? Ending{outcome_, {joined_.get(), 0, whole_.rows}}
                       : Ending{outcome_, {}};
}

Outcome SplitRequest::Keep(const Part& part, const OutputRows& rows) {
  if (!joined_) {
    joined_ = JoinedOutput::Create(*rows.buffer, whole_.rows);
    if (!joined_) {
      return kNoMemory;
    }
  } else if (!SameRows(*joined_.get(), *rows.buffer)) {
    return kShapesDiffer;
  }
  for (size_t i = 0; i < joined_->tensors().size(); ++i) {
    const OutputTensor& to = joined_->tensors()[i];
    const size_t bytes = to.row_bytes * static_cast<size_t>(rows.count);
    if (bytes > 0) {
      std::memcpy(to.data + to.row_bytes * static_cast<size_t>(part.first_row),
                  rows.buffer->tensors()[i].data +
                      to.row_bytes * static_cast<size_t>(rows.first),
                  bytes);
    }
  }
  return {};
}

void SplitRequest::PartReleased() {
  if (unreleased_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    whole_.GiveBackHold();  // which may destroy this
  }
}

}  // namespace ferry
