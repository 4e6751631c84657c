// Implements padding: rounds sizes up, copies chunks, makes masks.
#include "tensor/padding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "base/checked_math.h"
#include "tensor/data_type.h"
#include "tensor/segment_reader.h"

namespace ferry {
namespace {

// Bytes of ones that masks are views of; larger ones are of several.
constexpr size_t kOnesBytes = size_t{256} << 10;
constexpr auto kTypes = static_cast<size_t>(DataType::kBytes);  // those before

// The bytes of 1, little-endian; the rest are zeros.
uint64_t BitsOfOne(DataType type) {
  switch (type) {
    case DataType::kFp16:
      return 0x3C00;
    case DataType::kBf16:
      return 0x3F80;
    case DataType::kFp32:
      return std::bit_cast<uint32_t>(1.0F);
    case DataType::kFp64:
      return std::bit_cast<uint64_t>(1.0);
    default:
      return 1;
  }
}

// Ones of that type, made when first asked for, alive as long as the process.
const std::vector<std::byte>& Ones(DataType type) {
  static std::array<std::once_flag, kTypes> flags;
  static auto& all = *new std::array<std::vector<std::byte>, kTypes>();
  const auto index = static_cast<size_t>(type);
  std::call_once(flags[index], [&] {
    const uint64_t one = BitsOfOne(type);
    all[index].resize(kOnesBytes);
    for (size_t at = 0; at < kOnesBytes; at += ElementSize(type)) {
      std::memcpy(all[index].data() + at, &one, ElementSize(type));
    }
  });
  return all[index];
}

// The first of the sizes that holds `size`, or just that where none does.
int64_t PaddedSize(absl::Span<const int64_t> pads, int64_t size) {
  const auto pad = std::lower_bound(pads.begin(), pads.end(), size);
  return pad == pads.end() ? size : *pad;
}

// The size of the dimension that varies. REQUIRES: one does.
int64_t SizeOf(const TensorSpec& spec, absl::Span<const int64_t> dims) {
  return dims[*VaryingDim(spec.dims)];
}

}  // namespace

std::optional<size_t> VaryingDim(absl::Span<const int64_t> spec_dims) {
  const auto found = std::find(spec_dims.begin(), spec_dims.end(), kAnySize);
  return found == spec_dims.end()
             ? std::nullopt
             : std::optional(static_cast<size_t>(found - spec_dims.begin()));
}

RowChunks ChunksOf(absl::Span<const int64_t> row_dims, size_t varying) {
  return {.count = ElementCount(row_dims.first(varying)).value_or(0),
          .inner = ElementCount(row_dims.subspan(varying + 1)).value_or(0)};
}

std::byte* CopyPadded(absl::Span<const ByteSegment> segments, size_t bytes,
                      size_t padded_bytes, std::byte* to) {
  Check(bytes > 0 && bytes <= padded_bytes, "padding makes nothing smaller");
  SegmentReader reader(segments);
  while (reader.Copy(bytes, to)) {
    std::memset(to + bytes, 0, padded_bytes - bytes);
    to += padded_bytes;
  }
  Check(reader.at_end(), "rows are made of whole chunks");
  return to;
}

std::optional<size_t> PaddedInputs::Apply(const ModelSpec& spec, int32_t rows,
                                          absl::Span<TensorView> inputs) {
  rooms_.resize(std::max(rooms_.size(), inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& input = spec.inputs[i];
    if (input.follows.has_value() && inputs[*input.follows].is_given) {
      const size_t first = *input.follows;
      const int64_t size = SizeOf(spec.inputs[first], inputs[first].dims);
      if (input.is_mask && !inputs[i].is_given) {
        MakeMask(input, size, rows, rooms_[i], inputs[i]);
      }
      if (inputs[i].is_given && SizeOf(input, inputs[i].dims) != size) {
        return i;
      }
    }
    if (!input.pads.empty() && inputs[i].is_given) {
      const size_t varying = *VaryingDim(input.dims);
      auto& padded = rooms_[i].padded_dims;
      padded.assign(inputs[i].dims.begin(), inputs[i].dims.end());
      padded[varying] = PaddedSize(input.pads, padded[varying]);
      inputs[i].padded_dims = padded;
    }
  }
  return std::nullopt;
}

void PaddedInputs::MakeMask(const TensorSpec& spec, int64_t size, int32_t rows,
                            Room& room, TensorView& mask) {
  room.dims.assign(spec.dims.begin(), spec.dims.end());
  std::replace(room.dims.begin(), room.dims.end(), kAnySize, size);
  room.ones.clear();
  const std::vector<std::byte>& ones = Ones(spec.type);
  size_t left = RowBytes(spec.type, room.dims) * static_cast<size_t>(rows);
  while (left > 0) {
    const size_t bytes = std::min(left, ones.size());
    room.ones.push_back({ones.data(), bytes});
    left -= bytes;
  }
  mask = {.dims = room.dims, .segments = room.ones};
}

}  // namespace ferry
