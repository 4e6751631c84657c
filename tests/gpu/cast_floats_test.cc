// Tests CastElements among floats, on a device, against arithmetic on the host:
// every value of 16 bits, ties, subnormal numbers, infinities, NaN.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "models/cuda/cast_elements.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/small_float.h"

namespace ferry {
namespace {

// Elements of a type as they lie in memory, and what they mean.
struct Fp16 {
  static constexpr DataType kType = DataType::kFp16;
  using Bits = uint16_t;
  static Bits From(double value) {
    return Nearest(kFp16, static_cast<float>(value));
  }
  static double Value(Bits bits) { return ValueOf(kFp16, bits); }
};
struct Bf16 {
  static constexpr DataType kType = DataType::kBf16;
  using Bits = uint16_t;
  static Bits From(double value) {
    return Nearest(kBf16, static_cast<float>(value));
  }
  static double Value(Bits bits) { return ValueOf(kBf16, bits); }
};
struct Fp32 {
  static constexpr DataType kType = DataType::kFp32;
  using Bits = uint32_t;
  static Bits From(double value) {
    return std::bit_cast<Bits>(static_cast<float>(value));
  }
  static double Value(Bits bits) { return std::bit_cast<float>(bits); }
};
struct Fp64 {
  static constexpr DataType kType = DataType::kFp64;
  using Bits = uint64_t;
  static Bits From(double value) { return std::bit_cast<Bits>(value); }
  static double Value(Bits bits) { return std::bit_cast<double>(bits); }
};

// Where the three narrower ones round, overflow, lose digits and vanish, and
// next to it.
std::vector<double> Edges() {
  std::vector<double> edges = {0, 1, 0.1, 1.0 / 3, 65504, 65520};
  // Ties behind 1: to the even one below, and to the even one above; of BF16,
  // FP16 and FP32.
  for (const int place : {8, 11, 24}) {
    const double half = std::ldexp(1, -place);
    edges.insert(edges.end(), {1 + half, 1 + 3 * half});
  }
  // Past FP16's tie by less than FP32 holds: FP64 is rounded by way of FP32.
  edges.push_back(1 + std::ldexp(1, -11) + std::ldexp(1, -40));
  // The smallest normal number, subnormal ones, and half of the smallest; of
  // FP16, and of FP32 and BF16.
  for (const int exponent : {-14, -15, -23, -24, -25, -126, -127, -133, -134,
                             -149, -150, -1022, -1074}) {
    const double power = std::ldexp(1, exponent);
    edges.insert(edges.end(), {power, 1.5 * power});
  }
  const double largest = std::numeric_limits<float>::max();
  const double half_step = std::ldexp(1, 127 - 24);
  edges.insert(edges.end(),
               {largest, largest + half_step / 2, largest + half_step, 3.39e38,
                1e300, std::numeric_limits<double>::max(),
                std::numeric_limits<double>::infinity()});
  std::vector<double> all;
  for (const double edge : edges) {
    for (const double each :
         {edge,
          static_cast<double>(std::nextafter(static_cast<float>(edge), 0.0f)),
          std::nextafter(edge, 0.0), std::nextafter(edge, 1e308)}) {
      all.insert(all.end(), {each, -each});
    }
  }
  return all;
}

// All there are of 16 bits, which are 65,536; else edges, and many at random.
template <typename Type>
std::vector<typename Type::Bits> Elements() {
  std::vector<typename Type::Bits> elements;
  if constexpr (sizeof(typename Type::Bits) == 2) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      elements.push_back(static_cast<uint16_t>(bits));
    }
    return elements;
  }
  for (const double edge : Edges()) {
    elements.push_back(Type::From(edge));
  }
  elements.push_back(Type::From(std::numeric_limits<double>::quiet_NaN()));
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000003; ++i) {
    // Any bits, so each exponent, subnormal numbers and NaN.
    elements.push_back(static_cast<typename Type::Bits>(random()));
  }
  return elements;
}

template <typename To, typename From>
void ExpectCastFrom() {
  const std::vector<typename From::Bits> elements = Elements<From>();
  const DeviceMemory<typename From::Bits> from(elements);
  const DeviceMemory<typename To::Bits> to(elements.size());
  ASSERT_EQ(CastElements({from.data(), From::kType}, {to.data(), To::kType},
                         static_cast<int64_t>(elements.size()), nullptr),
            cudaSuccess);
  const std::vector<typename To::Bits> cast = to.Read();
  for (size_t i = 0; i < elements.size(); ++i) {
    const double value = From::Value(elements[i]);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(To::Value(cast[i]))) << "at " << i;
    } else {
      ASSERT_EQ(cast[i], To::From(value)) << value << " at " << i;
    }
  }
}

template <typename Type>
class CastFloatsTo : public DeviceTest {};
using Floats = ::testing::Types<Fp16, Bf16, Fp32, Fp64>;
TYPED_TEST_SUITE(CastFloatsTo, Floats);

TYPED_TEST(CastFloatsTo, NearestOfEachFp16) {
  ExpectCastFrom<TypeParam, Fp16>();
}
TYPED_TEST(CastFloatsTo, NearestOfEachBf16) {
  ExpectCastFrom<TypeParam, Bf16>();
}
TYPED_TEST(CastFloatsTo, NearestOfFp32) { ExpectCastFrom<TypeParam, Fp32>(); }
TYPED_TEST(CastFloatsTo, NearestOfFp64ByWayOfFp32) {
  ExpectCastFrom<TypeParam, Fp64>();
}

// A whole pack, one element less and one more, and blocks of many.
TYPED_TEST(CastFloatsTo, EachLengthEndsWhereItShould) {
  using Bits = typename TypeParam::Bits;
  constexpr Bits kUntouched = static_cast<Bits>(0x5555555555555555);
  for (const size_t count : {1u, 7u, 8u, 9u, 1024u, 1000003u}) {
    const std::vector<uint64_t> ones(count, Fp64::From(1));
    const DeviceMemory<uint64_t> from(ones);
    const DeviceMemory<Bits> to(std::vector<Bits>(count + 8, kUntouched));
    // FP64 to FP64 would be a copy.
    const DeviceMemory<float> floats(std::vector<float>(count, 1));
    const bool is_copy = TypeParam::kType == DataType::kFp64;
    const DeviceElements source =
        is_copy ? DeviceElements{floats.data(), DataType::kFp32}
                : DeviceElements{from.data(), DataType::kFp64};
    ASSERT_EQ(CastElements(source, {to.data(), TypeParam::kType},
                           static_cast<int64_t>(count), nullptr),
              cudaSuccess);
    const std::vector<Bits> cast = to.Read();
    for (size_t i = 0; i < cast.size(); ++i) {
      ASSERT_EQ(cast[i], i < count ? TypeParam::From(1) : kUntouched)
          << "at " << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace ferry
