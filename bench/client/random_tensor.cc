// Implements RandomElements(): one generator for each family of types.
#include "bench/client/random_tensor.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tensor/bytes_elements.h"

namespace ferry::bench {
namespace {

constexpr size_t kTextSize = 8;

template <typename T>
void Append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

// Uniform in [-1, 1), a multiple of 2^-10, so exact in FP16 and FP32.
float RandomFloat(std::mt19937_64& random) {
  return static_cast<float>(static_cast<int32_t>(random() >> 53) - 1024) /
         1024.0F;
}

// REQUIRES: |value| is 0 or in [2^-14, 2] and has at most 11 significant bits.
uint16_t ToFp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  if (value == 0) {
    return static_cast<uint16_t>(sign);
  }
  const uint32_t exponent = ((bits >> 23) & 0xFFU) - 127 + 15;
  return static_cast<uint16_t>(sign | (exponent << 10) |
                               ((bits >> 13) & 0x3FFU));
}

// Rounds toward zero.
uint16_t ToBf16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

template <typename T>
T RandomInteger(const IntegerRange& range, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  constexpr auto kLowest = static_cast<int64_t>(Limits::min());
  constexpr auto kHighest = static_cast<int64_t>(
      std::min<uint64_t>(static_cast<uint64_t>(Limits::max()),
                         std::numeric_limits<int64_t>::max()));
  const int64_t lowest = std::clamp(range.low, kLowest, kHighest);
  const int64_t highest = std::clamp(range.high, lowest, kHighest);
  const uint64_t span =
      static_cast<uint64_t>(highest) - static_cast<uint64_t>(lowest) + 1;
  const uint64_t step = span == 0 ? random() : random() % span;
  return static_cast<T>(static_cast<uint64_t>(lowest) + step);
}

template <typename T>
std::string Integers(size_t count, const IntegerRange& range,
                     std::mt19937_64& random) {
  std::string out;
  out.reserve(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    Append(out, RandomInteger<T>(range, random));
  }
  return out;
}

template <typename Convert>
std::string Floats(size_t count, std::mt19937_64& random, Convert convert) {
  std::string out;
  out.reserve(count * sizeof(convert(0.0F)));
  for (size_t i = 0; i < count; ++i) {
    Append(out, convert(RandomFloat(random)));
  }
  return out;
}

std::string Texts(size_t count, std::mt19937_64& random) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    std::string text(kTextSize, ' ');
    for (char& letter : text) {
      letter = static_cast<char>('a' + random() % 26);
    }
    AppendBytesElement(text, out);
  }
  return out;
}

}  // namespace

std::string RandomElements(DataType type, size_t count,
                           const IntegerRange& range, std::mt19937_64& random) {
  switch (type) {
    case DataType::kBool:
      return Integers<uint8_t>(count, {0, 1}, random);
    case DataType::kUint8:
      return Integers<uint8_t>(count, range, random);
    case DataType::kUint16:
      return Integers<uint16_t>(count, range, random);
    case DataType::kUint32:
      return Integers<uint32_t>(count, range, random);
    case DataType::kUint64:
      return Integers<uint64_t>(count, range, random);
    case DataType::kInt8:
      return Integers<int8_t>(count, range, random);
    case DataType::kInt16:
      return Integers<int16_t>(count, range, random);
    case DataType::kInt32:
      return Integers<int32_t>(count, range, random);
    case DataType::kInt64:
      return Integers<int64_t>(count, range, random);
    case DataType::kFp16:
      return Floats(count, random, ToFp16);
    case DataType::kBf16:
      return Floats(count, random, ToBf16);
    case DataType::kFp32:
      return Floats(count, random, [](float value) { return value; });
    case DataType::kFp64:
      return Floats(count, random,
                    [](float value) { return static_cast<double>(value); });
    case DataType::kBytes:
      return Texts(count, random);
  }
  return "";
}

}  // namespace ferry::bench
