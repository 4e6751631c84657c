// Implements InferMessage: walks the top-level fields of a ModelInferRequest.
#include "server/codec/infer_message.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;

// Above this the small fields are not kept for the next message.
constexpr size_t kMaxKeptFieldBytes = size_t{4} << 10;
constexpr size_t kMaxKeptSegments = 4096;
constexpr size_t kMaxPlainIdBytes = 1024;

constexpr uint32_t kRawField = ModelInferRequest::kRawInputContentsFieldNumber;
constexpr uint32_t kIdField = ModelInferRequest::kIdFieldNumber;

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

// The segments as protobuf reads them.
class SegmentStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit SegmentStream(absl::Span<const ByteSegment> segments)
      : segments_(segments) {}

  bool Next(const void** data, int* size) override {
    if (next_ == segments_.size()) {
      return false;
    }
    const ByteSegment& segment = segments_[next_];
    *data = segment.data + (segment.size - unread_of_next());
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
    return backed_up_ > 0 ? backed_up_ : segments_[next_].size;
  }

  const absl::Span<const ByteSegment> segments_;
  size_t next_ = 0;
  size_t backed_up_ = 0;  // bytes at the end of the next run; 0: all of it
  int64_t read_ = 0;
};

}  // namespace

absl::Status InferMessage::Parse(absl::Span<const ByteSegment> message) {
  Clear();
  is_repeated_ = false;
  absl::Status status = Walk(WireReader(message));
  if (status.ok()) {
    is_repeated_ = has_plain_id_ && AreFieldsKept();
    status = is_repeated_ ? status : ParseFields();
  }
  if (!status.ok()) {
    kept_.clear();
    fields_.Clear();  // nothing of the message before is said of this one
    return status;
  }
  if (has_plain_id_) {
    std::string& id = *fields_.mutable_id();
    id.clear();
    for (const ByteSegment& segment : id_segments_) {
      id.append(reinterpret_cast<const char*>(segment.data), segment.size);
    }
  }
  return status;
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
    const bool is_plain_id =
        is_bytes && tag.field == kIdField && TakeId(field_begin);
    if (is_bytes && tag.field < kRawField && !is_plain_id) {  // a small field
      if (IsRepeated(tag.field) && ++counts[tag.field] > kMaxTensors) {
        return TooMany("inputs, outputs or parameters");
      }
      if (stretch.bytes == 0) {
        stretch.begin = field_begin;
      }
      stretch.bytes += field_begin.left() - reader.left();
      continue;
    }
    if (absl::Status status = TakeFields(stretch); !status.ok()) {
      return status;
    }
    stretch.bytes = 0;
  }
  return TakeFields(stretch);
}

absl::Status InferMessage::TakeRaw(WireReader& reader) {
  size_t bytes = 0;
  const size_t first_segment = raw_segments_.size();
  if (!reader.ReadLength(bytes) || !reader.Take(bytes, raw_segments_)) {
    return Malformed();
  }
  if (raw_.size() == kMaxTensors) {
    return TooMany("raw_input_contents");
  }
  raw_.push_back({first_segment, raw_segments_.size() - first_segment, bytes});
  return absl::OkStatus();
}

absl::Status InferMessage::TakeFields(const Stretch& stretch) {
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
  WireReader reader = stretch.begin;
  return reader.Take(stretch.bytes, field_segments_) ? absl::OkStatus()
                                                     : Malformed();
}

// Takes a short id of ASCII, which differs from message to message. Any other
// is left to protobuf, which checks that it is UTF-8.
bool InferMessage::TakeId(WireReader reader) {
  WireTag tag;
  size_t bytes = 0;
  id_segments_.clear();
  has_plain_id_ =
      reader.ReadTag(tag) && reader.ReadLength(bytes) &&
      bytes <= kMaxPlainIdBytes && reader.Take(bytes, id_segments_) &&
      std::all_of(id_segments_.begin(), id_segments_.end(),
                  [](const ByteSegment& segment) {
                    return std::all_of(
                        segment.data, segment.data + segment.size,
                        [](std::byte byte) {
                          return (byte & std::byte{0x80}) == std::byte{};
                        });
                  });
  return has_plain_id_;
}

absl::Status InferMessage::ParseFields() {
  fields_.Clear();
  SegmentStream stream(field_segments_);
  if (!fields_.MergeFromBoundedZeroCopyStream(&stream,
                                              static_cast<int>(field_bytes_))) {
    return Malformed();
  }
  KeepFields();
  return absl::OkStatus();
}

bool InferMessage::AreFieldsKept() const {
  if (kept_.empty() || field_bytes_ != kept_.size()) {
    return false;
  }
  const char* kept = kept_.data();
  for (const ByteSegment& segment : field_segments_) {
    if (std::memcmp(segment.data, kept, segment.size) != 0) {
      return false;
    }
    kept += segment.size;
  }
  return true;
}

void InferMessage::KeepFields() {
  kept_.clear();
  if (field_bytes_ > kMaxKeptFieldBytes || !has_plain_id_) {
    return;
  }
  for (const ByteSegment& segment : field_segments_) {
    kept_.append(reinterpret_cast<const char*>(segment.data), segment.size);
  }
}

absl::Span<const ByteSegment> InferMessage::raw(size_t i) const {
  return absl::MakeConstSpan(raw_segments_)
      .subspan(raw_[i].first_segment, raw_[i].segment_count);
}

void InferMessage::Clear() {
  if (field_bytes_ > kMaxKeptFieldBytes) {
    inference::ModelInferRequest().Swap(&fields_);
  }
  fields_.clear_id();
  field_bytes_ = 0;
  stretches_ = 0;
  id_segments_.clear();
  has_plain_id_ = true;
  for (std::vector<ByteSegment>* segments :
       {&raw_segments_, &field_segments_}) {
    if (segments->capacity() > kMaxKeptSegments) {
      std::vector<ByteSegment>().swap(*segments);
    }
    segments->clear();
  }
  raw_.clear();
}

}  // namespace ferry
