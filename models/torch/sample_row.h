// RowOf makes a row of what `model_warmup` of a config says.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_TORCH_SAMPLE_ROW_H_
#define FERRY_MODELS_TORCH_SAMPLE_ROW_H_

#include <vector>

#include "absl/status/status.h"
#include "models/config/warm_up_sample.h"
#include "models/row_requests.h"
#include "tensor/tensor.h"

namespace ferry {

// Makes `row` one for each input of the spec. INVALID_ARGUMENT where the sample
// is not of that spec. REQUIRES: the sample has its bytes.
absl::Status RowOf(const WarmUpSample& sample, const ModelSpec& spec,
                   std::vector<RowInput>& row);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SAMPLE_ROW_H_
