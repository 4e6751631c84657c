// ReadWarmUpData fills warm-up samples: zeros, drawn values, bytes of files.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_WARM_UP_DATA_H_
#define FERRY_MODELS_CONFIG_WARM_UP_DATA_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/config/warm_up_sample.h"

namespace ferry {

// Where the files lie, beside a model's version folders.
inline constexpr char kWarmUpFolder[] = "warmup";

// Fills in the bytes of all inputs. `folder` holds the files. NOT_FOUND where
// one cannot be read, INVALID_ARGUMENT where it holds other than one row.
absl::Status ReadWarmUpData(const std::string& folder,
                            std::vector<WarmUpSample>& samples);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_WARM_UP_DATA_H_
