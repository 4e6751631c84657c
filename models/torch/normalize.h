// Normalizer turns images of bytes into the floats of a model, in one pass.
//
// Thread safety: const after construction.
#ifndef FERRY_MODELS_TORCH_NORMALIZE_H_
#define FERRY_MODELS_TORCH_NORMALIZE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "models/config/normalization.h"
#include "models/torch/cast.h"

namespace ferry {

// The arithmetic of a Normalization: x * scale + shift of each channel.
class Normalizer {
 public:
  explicit Normalizer(const Normalization& normalization);

  // Writes `rows` rows of dims `row_dims`, as on the wire, to `to` with the
  // channels first. REQUIRES: `to` is fp32 or bf16.
  void Run(const uint8_t* from, int64_t rows,
           absl::Span<const int64_t> row_dims, Elements to) const;

  // One for all channels, or one for each.
  const std::vector<float>& scales() const { return scales_; }
  const std::vector<float>& shifts() const { return shifts_; }

 private:
  const ChannelPlace channels_;
  std::vector<float> scales_, shifts_;  // one, or one a channel
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NORMALIZE_H_
