// The walk over the top-level fields of a ModelInferRequest.
#include "server/infer_message.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <array>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;

// Above this a message's memory is given back and not kept for the next.
constexpr size_t kMaxKeptFieldBytes = size_t{16} << 10;
constexpr size_t kMaxKeptRuns = 4096;

constexpr uint32_t kRawField = ModelInferRequest::kRawInputContentsFieldNumber;

bool IsRepeated(uint32_t field) {
  return field == ModelInferRequest::kParametersFieldNumber ||
         field == ModelInferRequest::kInputsFieldNumber ||
         field == ModelInferRequest::kOutputsFieldNumber;
}

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "expected a ModelInferRequest, got a truncated or malformed message");
}

absl::Status TooMany(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": expected at most ", InferMessage::kMaxTensors, ", got more"));
}

// The runs as protobuf reads them.
class RunStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit RunStream(absl::Span<const Run> runs) : runs_(runs) {}

  bool Next(const void** data, int* size) override {
    if (next_ == runs_.size()) {
      return false;
    }
    const Run& run = runs_[next_];
    *data = run.data + (run.size - unread_of_next());
    *size = static_cast<int>(unread_of_next());
    read_ += static_cast<int64_t>(unread_of_next());
    ++next_;
    backed_up_ = 0;
    return true;
  }

  void BackUp(int count) override {
    if (count == 0) {
      return;
    }
    --next_;
    backed_up_ = static_cast<size_t>(count);
    read_ -= count;
  }

  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      if (size > count) {
        BackUp(size - count);
        return true;
      }
      count -= size;
    }
    return count == 0;
  }

  int64_t ByteCount() const override { return read_; }

 private:
  size_t unread_of_next() const {
    return backed_up_ > 0 ? backed_up_ : runs_[next_].size;
  }

  const absl::Span<const Run> runs_;
  size_t next_ = 0;
  size_t backed_up_ = 0;  // bytes at the end of the next run; 0: all of it
  int64_t read_ = 0;
};

}  // namespace

absl::Status InferMessage::Parse(absl::Span<const Run> message) {
  Clear();
  return Walk(WireReader(message));
}

absl::Status InferMessage::Walk(WireReader reader) {
  std::array<size_t, kRawField> counts{};
  Stretch stretch{.begin = reader};
  while (!reader.at_end()) {
    const WireReader field_begin = reader;
    WireTag tag;
    if (!reader.ReadTag(tag)) {
      return Malformed();
    }
    const bool is_bytes = tag.type == WireType::kBytes;
    if (is_bytes && tag.field == kRawField) {
      if (absl::Status status = TakeRaw(reader); !status.ok()) {
        return status;
      }
    } else if (!reader.SkipValue(tag.type)) {
      return Malformed();
    }
    if (is_bytes && tag.field < kRawField) {  // a small field
      if (IsRepeated(tag.field) && ++counts[tag.field] > kMaxTensors) {
        return TooMany("inputs, outputs or parameters");
      }
      if (stretch.bytes == 0) {
        stretch.begin = field_begin;
      }
      stretch.bytes += field_begin.left() - reader.left();
      continue;
    }
    if (absl::Status status = Merge(stretch); !status.ok()) {
      return status;
    }
    stretch.bytes = 0;
  }
  return Merge(stretch);
}

absl::Status InferMessage::TakeRaw(WireReader& reader) {
  size_t bytes = 0;
  const size_t first_run = raw_runs_.size();
  if (!reader.ReadLength(bytes) || !reader.Take(bytes, raw_runs_)) {
    return Malformed();
  }
  if (raw_.size() == kMaxTensors) {
    return TooMany("raw_input_contents");
  }
  raw_.push_back({first_run, raw_runs_.size() - first_run, bytes});
  return absl::OkStatus();
}

absl::Status InferMessage::Merge(const Stretch& stretch) {
  if (stretch.bytes == 0) {
    return absl::OkStatus();
  }
  if (++stretches_ > kMaxStretches) {
    return absl::InvalidArgumentError(
        absl::StrCat("request: expected at most ", kMaxStretches,
                     " runs of known fields between unknown ones, got more"));
  }
  field_bytes_ += stretch.bytes;
  if (field_bytes_ > kMaxFieldBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request without its raw_input_contents: expected at most ",
        kMaxFieldBytes, " bytes, got more; send large tensors raw"));
  }
  merged_.clear();
  WireReader reader = stretch.begin;
  if (!reader.Take(stretch.bytes, merged_)) {
    return Malformed();
  }
  RunStream stream(merged_);
  if (!fields_.MergeFromBoundedZeroCopyStream(
          &stream, static_cast<int>(stretch.bytes))) {
    return Malformed();
  }
  return absl::OkStatus();
}

absl::Span<const Run> InferMessage::raw(size_t i) const {
  return absl::MakeConstSpan(raw_runs_).subspan(raw_[i].first_run,
                                                raw_[i].run_count);
}

void InferMessage::Clear() {
  if (field_bytes_ > kMaxKeptFieldBytes) {
    inference::ModelInferRequest().Swap(&fields_);
  } else {
    fields_.Clear();
  }
  field_bytes_ = 0;
  stretches_ = 0;
  if (raw_runs_.capacity() > kMaxKeptRuns) {
    std::vector<Run>().swap(raw_runs_);
  }
  raw_runs_.clear();
  raw_.clear();
}

}  // namespace ferry
