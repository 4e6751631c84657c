// Implements ZeroRow and RandomRow for elements of every type.
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

// Eight letters behind their length.
void PutText(std::mt19937& random, std::vector<std::byte>& bytes) {
  std::string text(8, ' ');
  for (char& letter : text) {
    letter = static_cast<char>('a' + random() % 26);
  }
  const size_t end = bytes.size();
  bytes.resize(end + kBytesLengthSize + text.size());
  WriteBytesElement(text, bytes.data() + end);
}

void PutElement(DataType type, std::mt19937& random,
                std::vector<std::byte>& bytes) {
  std::uniform_real_distribution<float> real(-1, 1);
  switch (type) {
    case DataType::kFp32:
      return Put(real(random), bytes);
    case DataType::kFp64:
      return Put(static_cast<double>(real(random)), bytes);
    case DataType::kBf16:
      return Put(ToBf16(real(random)), bytes);
    case DataType::kFp16:
      // 0.5 to 1: the exponent of 0.5 and any fraction.
      return Put(static_cast<uint16_t>(0x3800U | (random() & 0x3FFU)), bytes);
    case DataType::kBool:
      return Put(static_cast<uint8_t>(random() & 1U), bytes);
    case DataType::kBytes:
      return PutText(random, bytes);
    default:
      break;
  }
  const size_t size = ElementSize(type);
  const size_t end = bytes.size();
  bytes.resize(end + size);  // zeros
  bytes[end] = static_cast<std::byte>(random() % 100);
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

std::vector<std::byte> ZeroElements(DataType type, int64_t count) {
  // A string's length of zero is that of an empty one.
  return std::vector<std::byte>(
      static_cast<size_t>(count) *
      (type == DataType::kBytes ? kBytesLengthSize : ElementSize(type)));
}

std::vector<std::byte> DrawElements(DataType type, int64_t count,
                                    std::mt19937& random) {
  std::vector<std::byte> bytes;
  for (int64_t element = 0; element < count; ++element) {
    PutElement(type, random, bytes);
  }
  return bytes;
}

std::vector<RowInput> ZeroRow(const ModelSpec& spec, int64_t any_size) {
  std::vector<RowInput> inputs;
  for (const TensorSpec& tensor : spec.inputs) {
    RowInput& input = inputs.emplace_back(WithoutBytes(tensor, any_size));
    if (!input.is_given) {
      continue;
    }
    input.bytes =
        ZeroElements(tensor.type, ElementCount(input.dims).value_or(0));
  }
  return inputs;
}

std::vector<RowInput> RandomRow(const ModelSpec& spec, int64_t any_size) {
  std::mt19937 random(kDrawSeed);
  std::vector<RowInput> inputs;
  for (const TensorSpec& tensor : spec.inputs) {
    RowInput& input = inputs.emplace_back(WithoutBytes(tensor, any_size));
    if (!input.is_given) {
      continue;
    }
    const int64_t count = ElementCount(input.dims).value_or(0);
    if (tensor.name.find("mask") != std::string::npos &&
        tensor.type == DataType::kInt64) {
      for (int64_t element = 0; element < count; ++element) {
        Put(int64_t{1}, input.bytes);
      }
    } else {
      input.bytes = DrawElements(tensor.type, count, random);
    }
  }
  return inputs;
}

}  // namespace ferry
