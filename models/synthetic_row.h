// DrawRow and others make synthetic inputs of one row for any model, for
// ferry-forward, warm-up and comparisons: of one value, or drawn from some.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_SYNTHETIC_ROW_H_
#define FERRY_MODELS_SYNTHETIC_ROW_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/row_requests.h"
#include "tensor/tensor.h"

namespace ferry {

// The seed of all that is drawn: runs are alike.
inline constexpr uint32_t kDrawSeed = 7;

// Sizes of a dimension that varies, the cheap ones that most models take first;
// 1 for those whose dimensions must agree with others'.
inline constexpr int64_t kMadeUpSizes[] = {16, 32, 64, 128, 224, 1};

// Returns whether `rows` rows of the spec's inputs, with `any_size` for each
// size that varies, are cheap to try: 4 Mi elements at most.
bool IsCheap(const ModelSpec& spec, int64_t any_size, int32_t rows);

// What elements are drawn from.
struct SyntheticValues {
  const char* name;  // in messages
  // Floats are uniform from `low` to less than `high`; `low` where they are
  // equal. A bool is false or true, and `low` where they are equal.
  float low = -1;
  float high = 1;
  // Integers are from `least` to less than `end`, which is at most 32,768;
  // those of 8 bits below 100.
  int32_t least = 0;
  int32_t end = 100;
  // Each string; null: eight letters.
  const char* text = nullptr;
};

inline constexpr SyntheticValues kZeroValues = {"zeros", 0, 0, 0, 1, ""};
inline constexpr SyntheticValues kOneValues = {"ones", 1, 1, 1, 2, "a"};
inline constexpr SyntheticValues kSmallValues = {
    "small numbers", 0, 1, 1, 10, "1"};
// What is no index past an end, nor is it where a float becomes one.
inline constexpr SyntheticValues kDeviceValues = {"", 0, 0.98F, 0, 1};
// Integers are token ids of any vocabulary.
inline constexpr SyntheticValues kDrawnValues = {"drawn numbers"};

// Returns `count` elements as they lie on the wire.
std::vector<std::byte> DrawElements(DataType type, int64_t count,
                                    const SyntheticValues& values,
                                    std::mt19937& random);

// Returns a row with `any_size` for each size that varies, of inputs that are
// padded the largest of their sizes up to it or the smallest. A mask that may
// be left out is; other inputs named "*mask*" have ones where values are drawn.
// REQUIRES: the bytes can be counted.
std::vector<RowInput> DrawRow(const ModelSpec& spec, int64_t any_size,
                              const SyntheticValues& values,
                              std::mt19937& random);

// Draws the elements of `input`, which has its dims.
void DrawInput(const TensorSpec& spec, const SyntheticValues& values,
               std::mt19937& random, RowInput& input);

// Returns a row of kZeroValues, or of kDrawnValues with the seed of all.
std::vector<RowInput> ZeroRow(const ModelSpec& spec, int64_t any_size);
std::vector<RowInput> RandomRow(const ModelSpec& spec, int64_t any_size);

}  // namespace ferry

#endif  // FERRY_MODELS_SYNTHETIC_ROW_H_
