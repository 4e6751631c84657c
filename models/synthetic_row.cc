// Implements DrawRow and others for elements of every type.
#include "models/synthetic_row.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked_math.h"
#include "tensor/bytes_elements.h"

namespace ferry {
namespace {

constexpr int64_t kMaxCheapElements = int64_t{1} << 22;

// Appends the little-endian bytes of `value`.
template <typename Number>
void Put(Number value, std::vector<std::byte>& bytes) {
  const size_t end = bytes.size();
  bytes.resize(end + sizeof(value));
  std::memcpy(bytes.data() + end, &value, sizeof(value));
}

// The upper half of a float is a bf16.
uint16_t ToBf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

// A float of half the bits, cut off; what is too small for it is 0. REQUIRES:
// |value| < 65,536.
uint16_t ToFp16(float value) {
  constexpr uint32_t kExponentDifference = 127 - 15;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t exponent = bits >> 23 & 0xFFU;
  return static_cast<uint16_t>(
      exponent <= kExponentDifference
          ? sign
          : sign | (exponent - kExponentDifference) << 10 |
                (bits >> 13 & 0x3FFU));
}

void PutText(const char* text, std::mt19937& random,
             std::vector<std::byte>& bytes) {
  std::string put(text == nullptr ? "" : text);
  for (int letter = 0; text == nullptr && letter < 8; ++letter) {
    put.push_back(static_cast<char>('a' + random() % 26));
  }
  const size_t end = bytes.size();
  bytes.resize(end + kBytesLengthSize + put.size());
  WriteBytesElement(put, bytes.data() + end);
}

float DrawFloat(const SyntheticValues& values, std::mt19937& random) {
  return values.low < values.high ? std::uniform_real_distribution<float>(
                                        values.low, values.high)(random)
                                  : values.low;
}

void PutElement(DataType type, const SyntheticValues& values,
                std::mt19937& random, std::vector<std::byte>& bytes) {
  switch (type) {
    case DataType::kFp32:
      return Put(DrawFloat(values, random), bytes);
    case DataType::kFp64:
      return Put(static_cast<double>(DrawFloat(values, random)), bytes);
    case DataType::kBf16:
      return Put(ToBf16(DrawFloat(values, random)), bytes);
    case DataType::kFp16:
      return Put(ToFp16(DrawFloat(values, random)), bytes);
    case DataType::kBool:
      return Put(
          static_cast<uint8_t>(values.low < values.high ? random() & 1U
                                                        : values.low != 0),
          bytes);
    case DataType::kBytes:
      return PutText(values.text, random, bytes);
    default:
      break;
  }
  const size_t size = ElementSize(type);
  const size_t end = bytes.size();
  bytes.resize(end + size);  // zeros
  const int32_t most = size > 1 ? values.end : std::min(values.end, 100);
  const auto range = static_cast<uint32_t>(most - values.least);
  const uint32_t value = static_cast<uint32_t>(values.least) +
                         static_cast<uint32_t>(random() % range);
  std::memcpy(bytes.data() + end, &value, std::min(size, sizeof(value)));
}

// One input of a row, without its bytes.
RowInput WithoutBytes(const TensorSpec& tensor, int64_t any_size) {
  RowInput input;
  if (tensor.is_mask) {
    input.is_given = false;
    return input;
  }
  if (!tensor.pads.empty()) {
    const auto above =
        std::upper_bound(tensor.pads.begin(), tensor.pads.end(), any_size);
    any_size = above == tensor.pads.begin() ? *above : *(above - 1);
  }
  input.dims = tensor.dims;
  std::replace(input.dims.begin(), input.dims.end(), kAnySize, any_size);
  return input;
}

}  // namespace

bool IsCheap(const ModelSpec& spec, int64_t any_size, int32_t rows) {
  int64_t left = kMaxCheapElements / rows;
  for (const TensorSpec& input : spec.inputs) {
    std::vector<int64_t> dims = input.dims;
    std::replace(dims.begin(), dims.end(), kAnySize, any_size);
    const int64_t elements = ElementCount(dims).value_or(left + 1);
    if (elements > left) {
      return false;
    }
    left -= elements;
  }
  return true;
}

std::vector<std::byte> DrawElements(DataType type, int64_t count,
                                    const SyntheticValues& values,
                                    std::mt19937& random) {
  std::vector<std::byte> bytes;
  if (values.low == 0 && values.high == 0 && values.end == 1 &&
      type != DataType::kBytes) {
    bytes.resize(static_cast<size_t>(count) * ElementSize(type));
    return bytes;
  }
  for (int64_t element = 0; element < count; ++element) {
    PutElement(type, values, random, bytes);
  }
  return bytes;
}

void DrawInput(const TensorSpec& spec, const SyntheticValues& values,
               std::mt19937& random, RowInput& input) {
  const bool is_mask = values.low < values.high &&
                       spec.name.find("mask") != std::string::npos &&
                       spec.type != DataType::kBytes;
  input.bytes = DrawElements(spec.type, ElementCount(input.dims).value_or(0),
                             is_mask ? kOneValues : values, random);
}

std::vector<RowInput> DrawRow(const ModelSpec& spec, int64_t any_size,
                              const SyntheticValues& values,
                              std::mt19937& random) {
  std::vector<RowInput> inputs;
  for (const TensorSpec& tensor : spec.inputs) {
    RowInput& input = inputs.emplace_back(WithoutBytes(tensor, any_size));
    if (input.is_given) {
      DrawInput(tensor, values, random, input);
    }
  }
  return inputs;
}

std::vector<RowInput> ZeroRow(const ModelSpec& spec, int64_t any_size) {
  std::mt19937 unused;
  return DrawRow(spec, any_size, kZeroValues, unused);
}

std::vector<RowInput> RandomRow(const ModelSpec& spec, int64_t any_size) {
  std::mt19937 random(kDrawSeed);
  return DrawRow(spec, any_size, kDrawnValues, random);
}

}  // namespace ferry
