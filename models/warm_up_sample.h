// WarmUpSample: what `model_warmup` of a config says to run before the model is
// ready.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_WARM_UP_SAMPLE_H_
#define FERRY_MODELS_WARM_UP_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batcher/data_type.h"

namespace ferry {

struct WarmUpSample {
  enum class Data : uint8_t { kZeros, kRandom, kFile };

  struct Input {
    DataType type = DataType::kFp32;
    std::vector<int64_t> dims;  // of one row
    Data data = Data::kZeros;
    std::string file;              // with kFile: in the model's warmup folder
    std::vector<std::byte> bytes;  // of one row; empty until ReadWarmUpData()
  };

  std::string name;
  int32_t count = 1;                    // runs of each batch size
  std::map<std::string, Input> inputs;  // by name
};

}  // namespace ferry

#endif  // FERRY_MODELS_WARM_UP_SAMPLE_H_
