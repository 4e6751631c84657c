// Implements ReadWarmUpData: makes or reads bytes by their kind of data.
#include "models/config/warm_up_data.h"

#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "models/files/read_file.h"
#include "models/synthetic_row.h"
#include "tensor/bytes_elements.h"
#include "tensor/segment_reader.h"
#include "tensor/tensor.h"

namespace ferry {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;

using Bytes = std::vector<std::byte>;

// Whether the bytes are all of a row, and no more.
bool IsRow(const WarmUpSample::Input& input, const Bytes& bytes,
           int64_t elements) {
  if (input.type != DataType::kBytes) {
    return bytes.size() == RowBytes(input.type, input.dims);
  }
  const ByteSegment segment = {bytes.data(), bytes.size()};
  SegmentReader reader({&segment, 1});
  return SkipBytesElements(reader, elements) && reader.at_end();
}

absl::StatusOr<Bytes> ReadRow(const std::string& path, int64_t elements,
                              const WarmUpSample::Input& input) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxFileBytes);
  if (!text.ok()) {
    return absl::Status(
        text.status().code(),
        absl::StrCat("input_data_file: ", text.status().message()));
  }
  Bytes bytes(text->size());
  std::memcpy(bytes.data(), text->data(), text->size());
  if (!IsRow(input, bytes, elements)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input_data_file: '", path, "': expected one row, ",
        DataTypeName(input.type), " [", absl::StrJoin(input.dims, ","), "]",
        input.type == DataType::kBytes
            ? ", each element behind its length"
            : absl::StrCat(", of ", RowBytes(input.type, input.dims), " bytes"),
        ", got ", text->size(), " bytes"));
  }
  return bytes;
}

}  // namespace

absl::Status ReadWarmUpData(const std::string& folder,
                            std::vector<WarmUpSample>& samples) {
  std::mt19937 random(kDrawSeed);
  for (WarmUpSample& sample : samples) {
    for (auto& [name, input] : sample.inputs) {
      const int64_t elements = ElementCount(input.dims).value_or(0);
      switch (input.data) {
        case WarmUpSample::Data::kZeros:
        case WarmUpSample::Data::kRandom:
          input.bytes = std::make_shared<const Bytes>(DrawElements(
              input.type, elements,
              input.data == WarmUpSample::Data::kZeros ? kZeroValues
                                                       : kDrawnValues,
              random));
          break;
        case WarmUpSample::Data::kFile:
          absl::StatusOr<Bytes> row =
              ReadRow(absl::StrCat(folder, "/", input.file), elements, input);
          if (!row.ok()) {
            return absl::Status(
                row.status().code(),
                absl::StrCat("model_warmup '", sample.name, "': input '", name,
                             "': ", row.status().message()));
          }
          input.bytes = std::make_shared<const Bytes>(*std::move(row));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace ferry
