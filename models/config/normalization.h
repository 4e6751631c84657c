// Normalization says how an image's bytes become what the model takes, (x /
// divisor - mean) / std of each channel.
//
// Thread safety: plain values; free function.
#ifndef FERRY_MODELS_CONFIG_NORMALIZATION_H_
#define FERRY_MODELS_CONFIG_NORMALIZATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ferry {

// Where the channels stand among the dims of a row on the wire. The model gets
// them first.
enum class ChannelPlace : uint8_t { kFirst, kLast };

struct Normalization {
  double divisor = 255;
  std::vector<double> mean = {0};  // one for all channels, or one for each
  std::vector<double> std = {1};   // as many as of mean
  ChannelPlace channels = ChannelPlace::kFirst;
};

// Returns the dims of a row as the model gets them. REQUIRES: at least one.
inline std::vector<int64_t> ModelDims(const Normalization& normalization,
                                      absl::Span<const int64_t> row_dims) {
  std::vector<int64_t> dims(row_dims.begin(), row_dims.end());
  if (normalization.channels == ChannelPlace::kLast) {
    dims.insert(dims.begin(), dims.back());
    dims.pop_back();
  }
  return dims;
}

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_NORMALIZATION_H_
