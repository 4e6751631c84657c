// Implements TypedSegment(): turns repeated fields into segments.
#include "server/codec/typed_contents.h"

#include <google/protobuf/repeated_field.h>

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tensor/bytes_elements.h"

namespace ferry {
namespace {

using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;
using inference::InferTensorContents;

// One of the fields of InferTensorContents.
struct Field {
  const char* name;
  int size;
};

absl::Status Wrong(const char* found, DataType expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected explicit tensor data in ", found,
                   ", expected datatype '", DataTypeName(expected), "'"));
}

const char* FieldName(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "bool_contents";
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
      return "int_contents";
    case DataType::kInt64:
      return "int64_contents";
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
      return "uint_contents";
    case DataType::kUint64:
      return "uint64_contents";
    case DataType::kFp32:
      return "fp32_contents";
    case DataType::kFp64:
      return "fp64_contents";
    case DataType::kBytes:
      return "bytes_contents";
    case DataType::kFp16:
    case DataType::kBf16:
      break;
  }
  return nullptr;
}

// Returns OK when exactly the field for `type` holds exactly `count` elements.
absl::Status CheckFields(const InferTensorContents& contents, DataType type,
                         int64_t count) {
  const Field fields[] = {
      {"bool_contents", contents.bool_contents_size()},
      {"int_contents", contents.int_contents_size()},
      {"int64_contents", contents.int64_contents_size()},
      {"uint_contents", contents.uint_contents_size()},
      {"uint64_contents", contents.uint64_contents_size()},
      {"fp32_contents", contents.fp32_contents_size()},
      {"fp64_contents", contents.fp64_contents_size()},
      {"bytes_contents", contents.bytes_contents_size()},
  };
  const char* const expected = FieldName(type);
  if (expected == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("contents: datatype '", DataTypeName(type),
                     "' has no typed field, expected raw_input_contents"));
  }
  int64_t found = 0;
  for (const Field& field : fields) {
    if (field.size == 0) {
      continue;
    }
    if (std::strcmp(field.name, expected) != 0) {
      return Wrong(field.name, type);
    }
    found = field.size;
  }
  if (found != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected number of elements in ", expected,
                     ", expected ", count, ", got ", found));
  }
  return absl::OkStatus();
}

template <typename T>
ByteSegment InPlace(const RepeatedField<T>& field) {
  return {reinterpret_cast<const std::byte*>(field.data()),
          static_cast<size_t>(field.size()) * sizeof(T)};
}

template <typename Narrow, typename Wide>
absl::StatusOr<ByteSegment> Narrowed(const RepeatedField<Wide>& field,
                                     DataType type,
                                     std::vector<std::byte>& narrowed) {
  narrowed.resize(static_cast<size_t>(field.size()) * sizeof(Narrow));
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<Narrow>(field[i]);
    if (static_cast<Wide>(value) != field[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", field[i], " at index ", i, ", expected ",
                       std::numeric_limits<Narrow>::min(), " to ",
                       std::numeric_limits<Narrow>::max(), " as datatype '",
                       DataTypeName(type), "'"));
    }
    std::memcpy(narrowed.data() + static_cast<size_t>(i) * sizeof(Narrow),
                &value, sizeof(Narrow));
  }
  return ByteSegment{narrowed.data(), narrowed.size()};
}

// Puts each element behind its length.
ByteSegment Framed(const RepeatedPtrField<std::string>& elements,
                   std::vector<std::byte>& framed) {
  size_t bytes = 0;
  for (const std::string& element : elements) {
    bytes += kBytesLengthSize + element.size();
  }
  framed.resize(bytes);
  std::byte* to = framed.data();
  for (const std::string& element : elements) {
    to = WriteBytesElement(element, to);
  }
  return {framed.data(), framed.size()};
}

}  // namespace

absl::StatusOr<ByteSegment> TypedSegment(const InferTensorContents& contents,
                                         DataType type, int64_t count,
                                         std::vector<std::byte>& narrowed) {
  if (absl::Status status = CheckFields(contents, type, count); !status.ok()) {
    return status;
  }
  switch (type) {
    case DataType::kBool:
      static_assert(sizeof(bool) == 1);
      return InPlace(contents.bool_contents());
    case DataType::kInt8:
      return Narrowed<int8_t>(contents.int_contents(), type, narrowed);
    case DataType::kInt16:
      return Narrowed<int16_t>(contents.int_contents(), type, narrowed);
    case DataType::kInt32:
      return InPlace(contents.int_contents());
    case DataType::kInt64:
      return InPlace(contents.int64_contents());
    case DataType::kUint8:
      return Narrowed<uint8_t>(contents.uint_contents(), type, narrowed);
    case DataType::kUint16:
      return Narrowed<uint16_t>(contents.uint_contents(), type, narrowed);
    case DataType::kUint32:
      return InPlace(contents.uint_contents());
    case DataType::kUint64:
      return InPlace(contents.uint64_contents());
    case DataType::kFp32:
      return InPlace(contents.fp32_contents());
    case DataType::kFp64:
      return InPlace(contents.fp64_contents());
    case DataType::kBytes:
      return Framed(contents.bytes_contents(), narrowed);
    case DataType::kFp16:
    case DataType::kBf16:
      break;  // CheckFields() has refused them
  }
  return absl::InternalError("a type without a typed field");
}

}  // namespace ferry
