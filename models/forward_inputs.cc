// Drawing elements of every type.
#include "models/forward_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "batcher/bytes_elements.h"
#include "batcher/checked_math.h"

namespace ferry {
namespace {

constexpr uint32_t kSeed = 7;

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

}  // namespace

ForwardInputs::ForwardInputs(const ModelSpec& spec, int32_t count,
                             int64_t any_size)
    : inputs_(spec.inputs.size()) {
  std::mt19937 random(kSeed);
  size_t row_bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    const TensorSpec& tensor = spec.inputs[i];
    input.dims = tensor.dims;
    std::replace(input.dims.begin(), input.dims.end(), kAnySize, any_size);
    const bool is_mask = tensor.name.find("mask") != std::string::npos &&
                         tensor.type == DataType::kInt64;
    const int64_t elements = ElementCount(input.dims).value_or(0);
    for (int64_t element = 0; element < elements; ++element) {
      if (is_mask) {
        Put(int64_t{1}, input.bytes);
      } else {
        PutElement(tensor.type, random, input.bytes);
      }
    }
    input.run = {input.bytes.data(), input.bytes.size()};
    views_.push_back({.dims = input.dims,
                      .runs = {&input.run, 1},
                      .is_bytes = tensor.type == DataType::kBytes});
    row_bytes += input.bytes.size();
  }
  for (int32_t i = 0; i < count; ++i) {
    auto request = std::make_unique<InferRequest>();
    request->inputs = views_;
    request->bytes = row_bytes;
    requests_.push_back(std::move(request));
  }
}

}  // namespace ferry
