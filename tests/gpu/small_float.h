// SmallFloat computes floats of 16 bits by arithmetic in FP64, one step a line,
// as the reference of device code and of nothing else.
//
// Thread safety: plain values and functions. They take the rounding mode for
// the default, to nearest, ties to even.
#ifndef FERRY_TESTS_GPU_SMALL_FLOAT_H_
#define FERRY_TESTS_GPU_SMALL_FLOAT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ferry {

// A sign, exponents from min_exponent to max_exponent, and a fraction.
struct SmallFloat {
  int fraction_bits;
  int min_exponent;  // of normal numbers
  int max_exponent;

  uint16_t infinity() const {
    return static_cast<uint16_t>((max_exponent - min_exponent + 2)
                                 << fraction_bits);
  }
  bool IsNan(uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
};

inline constexpr SmallFloat kFp16 = {10, -14, 15};
inline constexpr SmallFloat kBf16 = {7, -126, 127};

// Returns the nearest value's bits, of two as near the even one's. What is as
// far as half a step past the largest is infinite; NaN is some NaN.
inline uint16_t Nearest(const SmallFloat& form, float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | form.infinity() | 1);
  }
  if (std::isinf(value)) {
    return static_cast<uint16_t>(sign | form.infinity());
  }
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = magnitude == 0
                           ? form.min_exponent
                           : std::max(std::ilogb(magnitude), form.min_exponent);
  // How many of the steps between its neighbours; an exact quotient, rounded.
  const double steps =
      std::nearbyint(std::ldexp(magnitude, form.fraction_bits - exponent));
  // A carry out of the fraction is one to the exponent, as it should be.
  const int bits = ((exponent - form.min_exponent) << form.fraction_bits) +
                   static_cast<int>(steps);
  return static_cast<uint16_t>(sign | std::min<int>(bits, form.infinity()));
}

// Returns the value of the bits, exactly.
inline float ValueOf(const SmallFloat& form, uint16_t bits) {
  const int fraction = bits & ((1 << form.fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> form.fraction_bits;
  double magnitude;
  if (form.IsNan(bits)) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if ((bits & 0x7fff) == form.infinity()) {
    magnitude = std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, form.min_exponent - form.fraction_bits);
  } else {
    magnitude =
        std::ldexp(fraction + (1 << form.fraction_bits),
                   exponent - 1 + form.min_exponent - form.fraction_bits);
  }
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_SMALL_FLOAT_H_
