// Implements TypedContents: walks the wire format, once to count, once to copy.
#include "server/codec/typed_contents.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "server/codec/wire_reader.h"
#include "tensor/bytes_elements.h"

namespace ferry {
namespace {

using inference::InferTensorContents;

// How an element of the field is written where it is not packed with others.
WireType TypeOf(uint32_t field) {
  switch (field) {
    case InferTensorContents::kFp32ContentsFieldNumber:
      return WireType::kFixed32;
    case InferTensorContents::kFp64ContentsFieldNumber:
      return WireType::kFixed64;
    case InferTensorContents::kBytesContentsFieldNumber:
      return WireType::kBytes;
    default:
      return WireType::kVarint;
  }
}

size_t FixedSize(uint32_t field) {
  return TypeOf(field) == WireType::kFixed32 ? sizeof(float) : sizeof(double);
}

// Calls `take(field, reader, bytes)` for each run of elements, which are the
// next `bytes` of the reader: one element, or one and more that are packed.
// What it takes are elements that Count() counted, none more. Returns false
// where the message is malformed or `take` returns false.
template <typename Take>
bool ForEachRun(WireReader reader, const Take& take) {
  while (!reader.at_end()) {
    WireTag tag;
    if (!reader.ReadTag(tag)) {
      return false;
    }
    WireReader elements = reader;
    if (!reader.SkipValue(tag.type)) {
      return false;
    }
    if (tag.field > TypedContents::kLastField ||
        (tag.type != WireType::kBytes && tag.type != TypeOf(tag.field))) {
      continue;  // unknown
    }
    size_t bytes = elements.left() - reader.left();
    if (tag.type == WireType::kBytes && !elements.ReadLength(bytes)) {
      return false;
    }
    if (bytes == 0 && TypeOf(tag.field) != WireType::kBytes) {
      continue;  // packed, but nothing
    }
    if (!take(tag.field, elements, bytes)) {
      return false;
    }
  }
  return true;
}

// Calls `take(value)` for each varint of the next `bytes`.
template <typename Take>
bool ForEachVarint(WireReader reader, size_t bytes, const Take& take) {
  const size_t end = reader.left() - bytes;
  while (reader.left() > end) {
    uint64_t value = 0;
    if (!reader.ReadVarint(value) || !take(value)) {
      return false;
    }
  }
  return reader.left() == end;
}

uint32_t FieldOf(DataType type) {  // 0: none
  switch (type) {
    case DataType::kBool:
      return InferTensorContents::kBoolContentsFieldNumber;
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
      return InferTensorContents::kIntContentsFieldNumber;
    case DataType::kInt64:
      return InferTensorContents::kInt64ContentsFieldNumber;
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
      return InferTensorContents::kUintContentsFieldNumber;
    case DataType::kUint64:
      return InferTensorContents::kUint64ContentsFieldNumber;
    case DataType::kFp32:
      return InferTensorContents::kFp32ContentsFieldNumber;
    case DataType::kFp64:
      return InferTensorContents::kFp64ContentsFieldNumber;
    case DataType::kBytes:
      return InferTensorContents::kBytesContentsFieldNumber;
    case DataType::kFp16:
    case DataType::kBf16:
      break;
  }
  return 0;
}

const std::string& NameOf(uint32_t field) {
  return InferTensorContents::descriptor()
      ->FindFieldByNumber(static_cast<int>(field))
      ->name();
}

// Returns OK where exactly the field for `type` holds exactly `count` elements.
absl::Status CheckFields(const TypedContents& contents, DataType type,
                         int64_t count) {
  const uint32_t expected = FieldOf(type);
  if (expected == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents: datatype '", DataTypeName(type),
                     "' has no typed field, expected raw_input_contents"));
  }
  for (uint32_t field = 1; field <= TypedContents::kLastField; ++field) {
    if (field != expected && contents.elements[field] > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected explicit tensor data in ", NameOf(field),
                       ", expected datatype '", DataTypeName(type), "'"));
    }
  }
  if (contents.elements[expected] != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unexpected number of elements in ", NameOf(expected), ", expected ",
        count, ", got ", contents.elements[expected]));
  }
  return absl::OkStatus();
}

// Copies values that are varints as protobuf's `Value`, each as an `Element`.
template <typename Element, typename Value = Element>
absl::Status CopyVarints(const WireReader& reader, DataType type,
                         std::vector<std::byte>& bytes) {
  std::byte* to = bytes.data();
  absl::Status status;
  ForEachRun(reader, [&](uint32_t, const WireReader& elements, size_t size) {
    return ForEachVarint(elements, size, [&](uint64_t varint) {
      const auto value = static_cast<Value>(varint);
      const auto element = static_cast<Element>(value);
      if (static_cast<Value>(element) != value) {
        const auto index =
            static_cast<size_t>(to - bytes.data()) / sizeof(element);
        status = absl::InvalidArgumentError(
            absl::StrCat("value ", value, " at index ", index, ", expected ",
                         std::numeric_limits<Element>::min(), " to ",
                         std::numeric_limits<Element>::max(), " as datatype '",
                         DataTypeName(type), "'"));
        return false;
      }
      std::memcpy(to, &element, sizeof(element));
      to += sizeof(element);
      return true;
    });
  });
  return status;
}

// Copies values that lie in the message as they do in a tensor.
absl::Status CopyFixed(const WireReader& reader,
                       std::vector<std::byte>& bytes) {
  std::byte* to = bytes.data();
  ForEachRun(reader, [&](uint32_t, WireReader elements, size_t size) {
    to += size;
    return elements.Copy(size, to - size);
  });
  return absl::OkStatus();
}

// Puts each element behind its length.
absl::Status CopyTexts(const WireReader& reader,
                       std::vector<std::byte>& bytes) {
  std::byte* to = bytes.data();
  ForEachRun(reader, [&](uint32_t, WireReader element, size_t size) {
    const auto length = static_cast<uint32_t>(size);
    static_assert(sizeof(length) == kBytesLengthSize);
    std::memcpy(to, &length, sizeof(length));
    to += sizeof(length) + size;
    return element.Copy(size, to - size);
  });
  return absl::OkStatus();
}

absl::Status CopyElements(const WireReader& reader, DataType type,
                          std::vector<std::byte>& bytes) {
  switch (type) {
    case DataType::kBool:
      return CopyVarints<bool>(reader, type, bytes);
    case DataType::kInt8:
      return CopyVarints<int8_t, int32_t>(reader, type, bytes);
    case DataType::kInt16:
      return CopyVarints<int16_t, int32_t>(reader, type, bytes);
    case DataType::kInt32:
      return CopyVarints<int32_t>(reader, type, bytes);
    case DataType::kInt64:
      return CopyVarints<int64_t>(reader, type, bytes);
    case DataType::kUint8:
      return CopyVarints<uint8_t, uint32_t>(reader, type, bytes);
    case DataType::kUint16:
      return CopyVarints<uint16_t, uint32_t>(reader, type, bytes);
    case DataType::kUint32:
      return CopyVarints<uint32_t>(reader, type, bytes);
    case DataType::kUint64:
      return CopyVarints<uint64_t>(reader, type, bytes);
    case DataType::kFp32:
    case DataType::kFp64:
      return CopyFixed(reader, bytes);
    case DataType::kBytes:
      return CopyTexts(reader, bytes);
    case DataType::kFp16:
    case DataType::kBf16:
      break;  // CheckFields() has refused them
  }
  return absl::InternalError("a type without a typed field");
}

}  // namespace

bool TypedContents::Count(absl::Span<const ByteSegment> message) {
  return ForEachRun(
      WireReader(message),
      [this](uint32_t field, const WireReader& run, size_t bytes) {
        int64_t& count = elements[field];
        switch (TypeOf(field)) {
          case WireType::kVarint:
            return ForEachVarint(run, bytes, [&count](uint64_t) {
              ++count;
              return true;
            });
          case WireType::kBytes:
            ++count;
            text_bytes += bytes;
            return true;
          default:
            count += static_cast<int64_t>(bytes / FixedSize(field));
            return bytes % FixedSize(field) == 0;
        }
      });
}

absl::StatusOr<ByteSegment> TypedSegment(const TypedContents& contents,
                                         absl::Span<const ByteSegment> segments,
                                         DataType type, int64_t count,
                                         std::vector<std::byte>& bytes) {
  if (absl::Status status = CheckFields(contents, type, count); !status.ok()) {
    return status;
  }
  bytes.resize(static_cast<size_t>(count) * (type == DataType::kBytes
                                                 ? kBytesLengthSize
                                                 : ElementSize(type)) +
               contents.text_bytes);
  if (absl::Status status = CopyElements(WireReader(segments), type, bytes);
      !status.ok()) {
    return status;
  }
  return ByteSegment{bytes.data(), bytes.size()};
}

}  // namespace ferry
