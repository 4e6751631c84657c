// Implements ParseNpy(): reads NumPy's file format: a magic word, a version, a
// header as a Python literal, the elements.
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "bench/client/element_bits.h"
#include "bench/client/payload.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";

absl::Status Wrong(absl::string_view expected, absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", expected, ", found ", found));
}

// What stands behind 'key': in the header, up to `end`; "" where it is not.
absl::string_view ValueOf(absl::string_view header, absl::string_view key,
                          char end) {
  const size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) {
    return "";
  }
  header.remove_prefix(at + key.size() + 2);
  const size_t colon = header.find(':');
  const size_t stop = header.find(end);
  if (colon == absl::string_view::npos || stop == absl::string_view::npos ||
      stop < colon) {
    return "";
  }
  return absl::StripAsciiWhitespace(header.substr(colon + 1, stop - colon - 1));
}

// Without its quotes, as NumPy's dtype.str: "<f4".
std::string TypeOf(absl::string_view header) {
  const absl::string_view quoted = ValueOf(header, "descr", ',');
  return quoted.size() < 2 ? ""
                           : std::string(quoted.substr(1, quoted.size() - 2));
}

std::string NpyTypeOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "|b1";
    case DataType::kUint8:
      return "|u1";
    case DataType::kInt8:
      return "|i1";
    case DataType::kUint16:
      return "<u2";
    case DataType::kInt16:
      return "<i2";
    case DataType::kUint32:
      return "<u4";
    case DataType::kInt32:
      return "<i4";
    case DataType::kUint64:
      return "<u8";
    case DataType::kInt64:
      return "<i8";
    case DataType::kFp16:
      return "<f2";
    case DataType::kFp32:
    case DataType::kBf16:
      return "<f4";
    case DataType::kFp64:
      return "<f8";
    case DataType::kBytes:
      break;
  }
  return "";
}

// The header and what follows it; empty where the file is none.
std::pair<absl::string_view, absl::string_view> Parts(absl::string_view text) {
  constexpr size_t kVersionAt = 6, kLengthAt = 8;
  if (text.size() < 12 || text.substr(0, kMagic.size()) != kMagic) {
    return {};
  }
  uint32_t length = 0;
  const size_t length_bytes = text[kVersionAt] == 1 ? 2 : 4;
  std::memcpy(&length, text.data() + kLengthAt, length_bytes);
  text.remove_prefix(kLengthAt + length_bytes);
  if (length > text.size()) {
    return {};
  }
  return {text.substr(0, length), text.substr(length)};
}

// "2, 3", "2," or "".
bool ReadShape(absl::string_view text, std::vector<int64_t>& shape) {
  for (const absl::string_view part :
       absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return false;
    }
    shape.push_back(dim);
  }
  return true;
}

}  // namespace

absl::StatusOr<InputContents> ParseNpy(const std::string& text, DataType type) {
  const auto [header, elements] = Parts(text);
  if (header.empty()) {
    return Wrong("a .npy file of NumPy", "something else");
  }
  const std::string wanted = NpyTypeOf(type);
  if (wanted.empty()) {
    return Wrong("a text a line, in a file without .npy, for BYTES",
                 "an array of NumPy");
  }
  if (const std::string found = TypeOf(header); found != wanted) {
    return Wrong(
        absl::StrCat("an array of '", wanted, "' for ", DataTypeName(type)),
        absl::StrCat("'", found, "'"));
  }
  if (ValueOf(header, "fortran_order", ',') != "False") {
    return Wrong("row-major order (numpy.ascontiguousarray)",
                 "Fortran's order");
  }
  const absl::string_view tuple = ValueOf(header, "shape", ')');
  InputContents contents;
  contents.shape.emplace();
  if (tuple.empty() || tuple.front() != '(' ||
      !ReadShape(tuple.substr(1), *contents.shape)) {
    return Wrong("a shape", absl::StrCat("'", tuple, "'"));
  }
  if (type != DataType::kBf16) {
    contents.bytes = std::string(elements);
    return contents;
  }
  for (size_t at = 0; at + sizeof(float) <= elements.size();
       at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, elements.data() + at, sizeof(value));
    if (!AppendElement(type, double{value}, contents.bytes)) {
      return Wrong("numbers that BF16 holds", absl::StrCat(value));
    }
  }
  return contents;
}

}  // namespace ferry::bench
