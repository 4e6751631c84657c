// Implements SafetensorsFile: parses and checks the header, reads by pread().
#include "models/files/safetensors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "models/files/read_file.h"
#include "nlohmann/json.hpp"

namespace ferry {
namespace {

using Json = nlohmann::json;

constexpr int kMaxHeaderDepth = 3;  // header, tensor, shape
constexpr size_t kMaxRank = 8;
constexpr size_t kSizeBytes = sizeof(uint64_t);

struct TypeName {
  const char* name;
  DataType type;
};
constexpr TypeName kTypeNames[] = {
    {"BOOL", DataType::kBool}, {"U8", DataType::kUint8},
    {"I8", DataType::kInt8},   {"U16", DataType::kUint16},
    {"I16", DataType::kInt16}, {"U32", DataType::kUint32},
    {"I32", DataType::kInt32}, {"U64", DataType::kUint64},
    {"I64", DataType::kInt64}, {"F16", DataType::kFp16},
    {"BF16", DataType::kBf16}, {"F32", DataType::kFp32},
    {"F64", DataType::kFp64},
};

std::optional<DataType> FindType(const std::string& name) {
  for (const TypeName& entry : kTypeNames) {
    if (name == entry.name) {
      return entry.type;
    }
  }
  return std::nullopt;
}

// Parses the header; a bound on depth and distinct names come with it.
absl::StatusOr<Json> ParseHeader(absl::string_view text) {
  std::set<std::string> names;
  std::string repeated;
  bool too_deep = false;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start ||
        event == Json::parse_event_t::array_start) {
      too_deep |= depth >= kMaxHeaderDepth;
      return depth < kMaxHeaderDepth;
    }
    if (event == Json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  Json header =
      Json::parse(text.begin(), text.end(), check, /*allow_exceptions=*/false);
  if (too_deep) {
    return absl::InvalidArgumentError(
        absl::StrCat("header nests deeper than ", kMaxHeaderDepth, " levels"));
  }
  if (!header.is_object()) {
    return absl::InvalidArgumentError(
        "header: expected one JSON object, got something else");
  }
  if (!repeated.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("header names tensor '", repeated, "' twice"));
  }
  return header;
}

// Reads member `key` as non-negative integers.
absl::StatusOr<std::vector<int64_t>> ReadIntegers(const Json& about,
                                                  const char* key) {
  const auto found = about.find(key);
  if (found == about.end() || !found->is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": expected an array of integers"));
  }
  std::vector<int64_t> values;
  for (const Json& item : *found) {
    if (!item.is_number_unsigned() ||
        item.get<uint64_t>() > uint64_t{INT64_MAX}) {
      return absl::InvalidArgumentError(absl::StrCat(
          key, ": expected integers from 0 to 2^63 - 1, got ", item.dump()));
    }
    values.push_back(item.get<int64_t>());
  }
  return values;
}

// Where in the file the tensors' bytes are.
struct Data {
  uint64_t begin = 0;
  uint64_t size = 0;
};

// Reads what the header says of one tensor, whose bytes must be a range of
// `data`.
absl::StatusOr<SafetensorsTensor> ReadTensor(const Json& about,
                                             const Data& data) {
  if (!about.is_object()) {
    return absl::InvalidArgumentError("expected a JSON object");
  }
  SafetensorsTensor tensor;
  const auto type_name = about.find("dtype");
  if (type_name == about.end() || !type_name->is_string()) {
    return absl::InvalidArgumentError("dtype: expected a string");
  }
  const auto type = FindType(type_name->get<std::string>());
  if (!type.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: expected BOOL, U8..U64, I8..I64, F16, BF16, F32 "
                     "or F64, got '",
                     type_name->get<std::string>(), "'"));
  }
  tensor.type = *type;
  absl::StatusOr<std::vector<int64_t>> shape = ReadIntegers(about, "shape");
  if (!shape.ok()) {
    return shape.status();
  }
  tensor.shape = *std::move(shape);
  absl::StatusOr<std::vector<int64_t>> range =
      ReadIntegers(about, "data_offsets");
  if (!range.ok()) {
    return range.status();
  }
  if (tensor.shape.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape: expected at most ", kMaxRank, " dimensions, got ",
                     tensor.shape.size()));
  }
  if (range->size() != 2 || (*range)[0] > (*range)[1] ||
      static_cast<uint64_t>((*range)[1]) > data.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("data_offsets: expected [begin, end] within ", data.size,
                     " bytes, got [", absl::StrJoin(*range, ", "), "]"));
  }
  std::optional<int64_t> bytes = ElementCount(tensor.shape);
  if (bytes.has_value()) {
    bytes =
        CheckedMultiply(*bytes, static_cast<int64_t>(ElementSize(tensor.type)));
  }
  if (!bytes.has_value() || *bytes != (*range)[1] - (*range)[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape [", absl::StrJoin(tensor.shape, ", "), "] of ",
                     DataTypeName(tensor.type), " needs ",
                     bytes.has_value() ? absl::StrCat(*bytes) : "too many",
                     " bytes, data_offsets give ", (*range)[1] - (*range)[0]));
  }
  tensor.offset = data.begin + static_cast<uint64_t>((*range)[0]);
  tensor.size = static_cast<uint64_t>(*bytes);
  return tensor;
}

// Checks that the sorted ranges touch each other and end with the file.
absl::Status CheckCoverage(const std::vector<SafetensorsTensor>& tensors,
                           const Data& data) {
  uint64_t expected = data.begin;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.offset != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor '", tensor.name, "' begins at byte ",
          tensor.offset - data.begin, " of the data, expected ",
          expected - data.begin, ": ranges must neither overlap nor gap"));
    }
    expected += tensor.size;
  }
  if (expected != data.begin + data.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensors end at byte ", expected - data.begin,
                     " of the data, expected ", data.size));
  }
  return absl::OkStatus();
}

// Reads `to.size()` bytes at `offset`.
absl::Status ReadAt(int descriptor, uint64_t offset, absl::Span<std::byte> to) {
  size_t size = 0;
  while (size < to.size()) {
    const ssize_t got = pread(descriptor, to.data() + size, to.size() - size,
                              static_cast<off_t>(offset + size));
    if (got < 0 && errno != EINTR) {
      return absl::InternalError(
          absl::StrCat("cannot read it: ", std::strerror(errno)));
    }
    if (got == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected ", to.size(), " bytes from byte ", offset,
                       ", got ", size, ": it was cut while it was read"));
    }
    size += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return absl::OkStatus();
}

// Returns the header's text, and where the data is.
absl::StatusOr<std::string> ReadHeader(int descriptor, uint64_t file_size,
                                       Data& data) {
  if (file_size < kSizeBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected at least ", kSizeBytes, " bytes, got ", file_size));
  }
  uint64_t size = 0;
  absl::Status status =
      ReadAt(descriptor, 0, {reinterpret_cast<std::byte*>(&size), kSizeBytes});
  if (!status.ok()) {
    return status;
  }
  const uint64_t limit = std::min<uint64_t>(file_size - kSizeBytes,
                                            SafetensorsFile::kMaxHeaderBytes);
  if (size > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "header size: expected at most ", limit, " bytes, got ", size));
  }
  std::string text(static_cast<size_t>(size), '\0');
  status = ReadAt(
      descriptor, kSizeBytes,
      {reinterpret_cast<std::byte*>(text.data()), static_cast<size_t>(size)});
  if (!status.ok()) {
    return status;
  }
  data = {kSizeBytes + size, file_size - kSizeBytes - size};
  return text;
}

// Reads what the header says of all tensors.
absl::StatusOr<std::vector<SafetensorsTensor>> ReadTensors(int descriptor,
                                                           uint64_t file_size) {
  Data data;
  const absl::StatusOr<std::string> text =
      ReadHeader(descriptor, file_size, data);
  if (!text.ok()) {
    return text.status();
  }
  absl::StatusOr<Json> header = ParseHeader(*text);
  if (!header.ok()) {
    return header.status();
  }
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [name, about] : header->items()) {
    if (name == "__metadata__") {
      continue;
    }
    absl::StatusOr<SafetensorsTensor> tensor = ReadTensor(about, data);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "': ", tensor.status().message()));
    }
    tensor->name = name;
    tensors.push_back(*std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return std::make_pair(a.offset, a.size) <
                     std::make_pair(b.offset, b.size);
            });
  if (absl::Status status = CheckCoverage(tensors, data); !status.ok()) {
    return status;
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::Open(
    const std::string& path) {
  const absl::StatusOr<int> descriptor = OpenRegularFile(path);
  if (!descriptor.ok()) {
    return descriptor.status();
  }
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(path, *descriptor));
  struct stat about = {};
  fstat(*descriptor, &about);
  absl::StatusOr<std::vector<SafetensorsTensor>> tensors =
      ReadTensors(*descriptor, static_cast<uint64_t>(about.st_size));
  if (!tensors.ok()) {
    return absl::Status(
        tensors.status().code(),
        absl::StrCat("'", path, "': ", tensors.status().message()));
  }
  file->tensors_ = *std::move(tensors);
  return file;
}

SafetensorsFile::~SafetensorsFile() { close(descriptor_); }

absl::Status SafetensorsFile::Read(const SafetensorsTensor& tensor,
                                   absl::Span<std::byte> to) const {
  const absl::Status status = ReadAt(descriptor_, tensor.offset, to);
  return status.ok()
             ? status
             : absl::Status(status.code(),
                            absl::StrCat("'", path_, "': tensor '", tensor.name,
                                         "': ", status.message()));
}

const SafetensorsTensor* SafetensorsFile::Find(absl::string_view name) const {
  for (const SafetensorsTensor& tensor : tensors_) {
    if (tensor.name == name) {
      return &tensor;
    }
  }
  return nullptr;
}

}  // namespace ferry
