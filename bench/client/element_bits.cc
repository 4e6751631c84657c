// Implements AppendElement(): integers by range, floats by rounding.
#include "bench/client/element_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace ferry::bench {
namespace {

template <typename T>
void Append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

struct HalfFormat {
  int fraction_bits;
  int exponent_bits;
};

constexpr HalfFormat kFp16 = {10, 5};
constexpr HalfFormat kBf16 = {7, 8};

// Rounds in the last place that the format has there: below its least normal
// number that place stays where it is.
bool AppendHalf(HalfFormat format, double value, std::string& out) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int infinity = ((1 << format.exponent_bits) - 1)
                       << format.fraction_bits;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (!std::isfinite(value)) {
    const int quiet = 1 << (format.fraction_bits - 1);
    Append(out, static_cast<uint16_t>(sign | infinity |
                                      (std::isnan(value) ? quiet : 0)));
    return true;
  }
  const double size = std::abs(value);
  const int exponent =
      size == 0 ? 1 - bias : std::max(std::ilogb(size), 1 - bias);
  if (exponent > bias) {
    return false;
  }
  const auto units = static_cast<int>(
      std::nearbyint(std::ldexp(size, format.fraction_bits - exponent)));
  // The leading bit of a normal number counts as one of the exponent.
  const int bits = ((exponent + bias - 1) << format.fraction_bits) + units;
  if (bits >= infinity) {
    return false;
  }
  Append(out, static_cast<uint16_t>(sign | bits));
  return true;
}

bool AppendFp32(double value, std::string& out) {
  const auto single = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(single)) {
    return false;
  }
  Append(out, single);
  return true;
}

template <typename T, typename Value>
bool AppendInteger(Value value, std::string& out) {
  if (!std::in_range<T>(value)) {
    return false;
  }
  Append(out, static_cast<T>(value));
  return true;
}

template <typename Value>
bool AppendWhole(DataType type, Value value, std::string& out) {
  switch (type) {
    case DataType::kBool:
      return (value == 0 || value == 1) && AppendInteger<uint8_t>(value, out);
    case DataType::kUint8:
      return AppendInteger<uint8_t>(value, out);
    case DataType::kUint16:
      return AppendInteger<uint16_t>(value, out);
    case DataType::kUint32:
      return AppendInteger<uint32_t>(value, out);
    case DataType::kUint64:
      return AppendInteger<uint64_t>(value, out);
    case DataType::kInt8:
      return AppendInteger<int8_t>(value, out);
    case DataType::kInt16:
      return AppendInteger<int16_t>(value, out);
    case DataType::kInt32:
      return AppendInteger<int32_t>(value, out);
    case DataType::kInt64:
      return AppendInteger<int64_t>(value, out);
    case DataType::kFp16:
    case DataType::kFp32:
    case DataType::kFp64:
    case DataType::kBf16:
      return AppendElement(type, static_cast<double>(value), out);
    case DataType::kBytes:
      break;
  }
  return false;
}

}  // namespace

bool AppendElement(DataType type, double value, std::string& out) {
  switch (type) {
    case DataType::kFp16:
      return AppendHalf(kFp16, value, out);
    case DataType::kBf16:
      return AppendHalf(kBf16, value, out);
    case DataType::kFp32:
      return AppendFp32(value, out);
    case DataType::kFp64:
      Append(out, value);
      return true;
    default:
      break;
  }
  // 1e3 and 1.0 are whole; 2^63 is the first that int64_t does not hold.
  if (value != std::floor(value) || std::abs(value) >= 0x1p63) {
    return false;
  }
  return AppendWhole(type, static_cast<int64_t>(value), out);
}

bool AppendElement(DataType type, int64_t value, std::string& out) {
  return AppendWhole(type, value, out);
}

bool AppendElement(DataType type, uint64_t value, std::string& out) {
  return AppendWhole(type, value, out);
}

}  // namespace ferry::bench
