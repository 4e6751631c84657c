// Implements Normalizer with one loop a channel.
#include "models/torch/normalize.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"

namespace ferry {
namespace {

void Store(float value, float& to) { to = value; }
void Store(float value, uint16_t& to) { to = ToBf16(value); }

// One channel of one image; its values stand `kStride` apart.
template <int64_t kStride, typename To>
[[gnu::always_inline]] inline void RunLoop(const uint8_t* from, int64_t count,
                                           float scale, float shift, To* to) {
  for (int64_t i = 0; i < count; ++i) {
    Store(static_cast<float>(from[i * kStride]) * scale + shift, to[i]);
  }
}

// Strides that are constants are vectorized, for wider vectors as well: the
// loader takes what the processor has.
template <typename To>
[[gnu::always_inline]] inline void RunChannel(const uint8_t* from,
                                              int64_t stride, int64_t count,
                                              float scale, float shift,
                                              To* to) {
  switch (stride) {
    case 1:
      return RunLoop<1>(from, count, scale, shift, to);
    case 3:
      return RunLoop<3>(from, count, scale, shift, to);
    case 4:
      return RunLoop<4>(from, count, scale, shift, to);
    default:
      for (int64_t i = 0; i < count; ++i) {
        Store(static_cast<float>(from[i * stride]) * scale + shift, to[i]);
      }
  }
}

__attribute__((target_clones("avx512f", "default"))) void ChannelToFloat(
    const uint8_t* from, int64_t stride, int64_t count, float scale,
    float shift, float* to) {
  RunChannel(from, stride, count, scale, shift, to);
}

__attribute__((target_clones("avx512f", "default"))) void ChannelToBf16(
    const uint8_t* from, int64_t stride, int64_t count, float scale,
    float shift, uint16_t* to) {
  RunChannel(from, stride, count, scale, shift, to);
}

}  // namespace

Normalizer::Normalizer(const Normalization& normalization)
    : channels_(normalization.channels) {
  const size_t count =
      std::max(normalization.mean.size(), normalization.std.size());
  for (size_t i = 0; i < count; ++i) {
    const double mean =
        normalization.mean[normalization.mean.size() == 1 ? 0 : i];
    const double std = normalization.std[normalization.std.size() == 1 ? 0 : i];
    scales_.push_back(static_cast<float>(1 / (normalization.divisor * std)));
    shifts_.push_back(static_cast<float>(-mean / std));
  }
}

void Normalizer::Run(const uint8_t* from, int64_t rows,
                     absl::Span<const int64_t> row_dims, Elements to) const {
  const bool is_last = channels_ == ChannelPlace::kLast;
  const int64_t channels = is_last ? row_dims.back() : row_dims.front();
  const int64_t row_elements = ElementCount(row_dims).value_or(0);
  const int64_t count = row_elements / channels;  // of one channel
  const int64_t stride = is_last ? channels : 1;
  Check(to.type == at::kFloat || to.type == at::kBFloat16,
        "a model computes in fp32 or bf16");
  for (int64_t channel = 0; channel < rows * channels; ++channel) {
    const int64_t in_row = channel % channels;
    const uint8_t* const first = from + channel / channels * row_elements +
                                 in_row * (is_last ? 1 : count);
    const size_t place = scales_.size() == 1 ? 0 : static_cast<size_t>(in_row);
    if (to.type == at::kFloat) {
      ChannelToFloat(first, stride, count, scales_[place], shifts_[place],
                     static_cast<float*>(to.data) + channel * count);
    } else {
      ChannelToBf16(first, stride, count, scales_[place], shifts_[place],
                    static_cast<uint16_t*>(to.data) + channel * count);
    }
  }
}

}  // namespace ferry
