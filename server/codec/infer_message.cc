// Implements InferMessage: walks the fields of a ModelInferRequest.
#include "server/codec/infer_message.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;

// Above this the small fields are not kept for the next message.
// What was parsed of them may have 60 times as many.
constexpr size_t kMaxKeptFieldBytes = 512;
constexpr size_t kMaxKeptSegments = 4096;
constexpr size_t kMaxPlainIdBytes = 1024;

constexpr uint32_t kParameters = ModelInferRequest::kParametersFieldNumber;
constexpr uint32_t kInputs = ModelInferRequest::kInputsFieldNumber;
constexpr uint32_t kOutputs = ModelInferRequest::kOutputsFieldNumber;
constexpr uint32_t kRaw = ModelInferRequest::kRawInputContentsFieldNumber;
constexpr uint32_t kId = ModelInferRequest::kIdFieldNumber;
constexpr uint32_t kInputParameters =
    ModelInferRequest::InferInputTensor::kParametersFieldNumber;
constexpr uint32_t kInputContents =
    ModelInferRequest::InferInputTensor::kContentsFieldNumber;
constexpr uint32_t kOutputParameters =
    ModelInferRequest::InferRequestedOutputTensor::kParametersFieldNumber;

// The length of a tensor that is kept, as a varint of so many bytes.
constexpr size_t kHeadBytes = 4;
static_assert(InferMessage::kMaxFieldBytes < size_t{1} << (7 * kHeadBytes));

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "expected a ModelInferRequest, got a truncated or malformed message");
}

absl::Status TooMany(const char* what,
                     size_t at_most = InferMessage::kMaxTensors) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": expected at most ", at_most, ", got more"));
}

void WriteHead(size_t bytes, char* to) {
  for (size_t i = 0; i < kHeadBytes; ++i) {
    const bool is_last = i + 1 == kHeadBytes;
    to[i] = static_cast<char>((bytes >> (7 * i) & 0x7f) | (is_last ? 0 : 0x80));
  }
}

}  // namespace

absl::Status InferMessage::Parse(absl::Span<const ByteSegment> message) {
  Clear();
  is_repeated_ = false;
  absl::Status status = Walk(WireReader(message));
  const bool is_kept = has_plain_id_ && !kept_.empty() && small_ == kept_;
  if (status.ok() && !is_kept && !fields_.ParseFromString(small_)) {
    status = Malformed();
  }
  if (!status.ok()) {
    kept_.clear();
    fields_.Clear();  // nothing of the message before is said of this one
    return status;
  }
  is_repeated_ =
      is_kept && std::none_of(typed_.begin(), typed_.end(),
                              [](const auto& input) { return input.is_given; });
  if (!has_plain_id_ || small_.size() > kMaxKeptFieldBytes) {
    kept_.clear();
  } else if (!is_kept) {
    kept_ = small_;
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
  while (!reader.at_end()) {
    const WireReader begin = reader;
    WireTag tag;
    if (!reader.ReadTag(tag)) {
      return Malformed();
    }
    absl::Status status = CountField();
    if (!status.ok()) {
      return status;
    }
    if (tag.type != WireType::kBytes || tag.field > kRaw) {  // unknown
      status = reader.SkipValue(tag.type) ? status : Malformed();
    } else if (tag.field == kRaw) {
      status = TakeRaw(reader);
    } else if (tag.field == kInputs || tag.field == kOutputs) {
      status = TakeTensor(tag.field, reader);
    } else if (!reader.SkipValue(tag.type)) {
      status = Malformed();
    } else if (tag.field != kId || !TakeId(begin)) {
      status = CountOne(tag.field);
      status.Update(KeepField(begin, reader));
    }
    if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status InferMessage::CountOne(uint32_t field) {
  size_t ignored = 0;
  size_t& count = field == kInputs       ? input_count_
                  : field == kOutputs    ? output_count_
                  : field == kParameters ? parameter_count_
                                         : ignored;
  return ++count > kMaxTensors ? TooMany("inputs, outputs or parameters")
                               : absl::OkStatus();
}

absl::Status InferMessage::CountField() {
  return ++field_count_ > kMaxFields
             ? TooMany("fields of the request and of its tensors", kMaxFields)
             : absl::OkStatus();
}

absl::Status InferMessage::TakeRaw(WireReader& reader) {
  size_t bytes = 0;
  const size_t first = segments_.size();
  if (!reader.ReadLength(bytes) || !reader.Take(bytes, segments_)) {
    return Malformed();
  }
  if (raw_.size() == kMaxTensors) {
    return TooMany("raw_input_contents");
  }
  raw_.push_back({{first, segments_.size() - first}, bytes});
  return absl::OkStatus();
}

// Takes an input or a requested output; contents are not kept.
absl::Status InferMessage::TakeTensor(uint32_t field, WireReader& reader) {
  const bool is_input = field == kInputs;
  const uint32_t parameters = is_input ? kInputParameters : kOutputParameters;
  size_t bytes = 0;
  if (!reader.ReadLength(bytes)) {
    return Malformed();
  }
  absl::Status status = CountOne(field);
  if (is_input) {
    typed_.emplace_back();
  }
  small_.push_back(
      static_cast<char>(field << 3 | static_cast<uint32_t>(WireType::kBytes)));
  const size_t head = small_.size();
  small_.append(kHeadBytes, '\0');
  const size_t end = reader.left() - bytes;  // what is left behind the tensor
  while (status.ok() && reader.left() > end) {
    const WireReader begin = reader;
    WireTag tag;
    if (!reader.ReadTag(tag)) {
      return Malformed();
    }
    status = CountField();
    if (!status.ok()) {
      return status;
    }
    if (is_input && tag.field == kInputContents &&
        tag.type == WireType::kBytes) {
      status = TakeTyped(reader);
    } else if (!reader.SkipValue(tag.type) || reader.left() < end) {
      return Malformed();
    } else if (tag.field <= parameters) {
      status = tag.field == parameters ? CountOne(kParameters) : status;
      status.Update(KeepField(begin, reader));
    }
  }
  if (status.ok() && reader.left() != end) {
    return Malformed();
  }
  WriteHead(small_.size() - head - kHeadBytes, &small_[head]);
  return status;
}

// Takes typed contents of the last input.
absl::Status InferMessage::TakeTyped(WireReader& reader) {
  TypedInput& input = typed_.back();
  const size_t first = segments_.size();
  size_t bytes = 0;
  if (!reader.ReadLength(bytes) || !reader.Take(bytes, segments_)) {
    return Malformed();
  }
  typed_bytes_ += bytes;
  if (typed_bytes_ > kMaxTypedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("typed contents: expected at most ", kMaxTypedBytes,
                     " bytes, got more; send large tensors in "
                     "raw_input_contents"));
  }
  if (!input.is_given) {
    input.is_given = true;
    input.pieces.first = first;
  }
  input.pieces.count = segments_.size() - input.pieces.first;
  return input.contents.Count(absl::MakeConstSpan(segments_).subspan(first))
             ? absl::OkStatus()
             : Malformed();
}

absl::Status InferMessage::KeepField(WireReader begin, const WireReader& end) {
  const size_t bytes = begin.left() - end.left();
  const size_t at = small_.size();
  if (at + bytes > kMaxFieldBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request without the contents of its tensors: expected at "
        "most ",
        kMaxFieldBytes, " bytes, got more; send what is large as a tensor"));
  }
  small_.resize(at + bytes);
  return begin.Copy(bytes, reinterpret_cast<std::byte*>(&small_[at]))
             ? absl::OkStatus()
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

void InferMessage::Clear() {
  if (small_.size() > kMaxKeptFieldBytes) {
    ModelInferRequest().Swap(&fields_);
    std::string().swap(small_);
  }
  fields_.clear_id();
  small_.clear();
  typed_bytes_ = 0;
  field_count_ = 0;
  input_count_ = 0;
  output_count_ = 0;
  parameter_count_ = 0;
  id_segments_.clear();
  has_plain_id_ = true;
  if (segments_.capacity() > kMaxKeptSegments) {
    std::vector<ByteSegment>().swap(segments_);
  }
  segments_.clear();
  raw_.clear();
  typed_.clear();
}

}  // namespace ferry
