// WarmUpSample holds what `model_warmup` of a config says to run before the
// model is ready.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_CONFIG_WARM_UP_SAMPLE_H_
#define FERRY_MODELS_CONFIG_WARM_UP_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/data_type.h"

namespace ferry {

struct WarmUpSample {
  enum class Data : uint8_t { kZeros, kRandom, kFile };

  struct Input {
    DataType type = DataType::kFp32;
    std::vector<int64_t> dims;  // of one row
    Data data = Data::kZeros;
    std::string file;  // with kFile: in the model's warmup folder
    // One row's; none until ReadWarmUpData(). Shared by the instances.
    std::shared_ptr<const std::vector<std::byte>> bytes;
  };

  std::string name;
  int32_t rows = 1;  // of the batches run `count` times
  int32_t count = 1;
  std::map<std::string, Input> inputs;  // by name
};

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_WARM_UP_SAMPLE_H_
