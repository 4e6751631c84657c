// Implements FindEmbeddedConfig: holds the config texts.
#include "models/repository/embedded_models.h"

namespace ferry {
namespace {

constexpr char kMlp[] = R"(
backend: "ferry_network"
max_batch_size: 64
input { name: "input" data_type: TYPE_FP32 dims: 1024 }
output { name: "output" data_type: TYPE_FP32 dims: 1024 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters {
  key: "ferry.widths" value { string_value: "1024,4096,4096,1024" }
}
)";

constexpr char kResNet50[] = R"(
backend: "ferry_network"
max_batch_size: 32
input { name: "input" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] }
output { name: "output" data_type: TYPE_FP32 dims: 1000 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "resnet50" } }
)";

constexpr char kEncoder[] = R"(
backend: "ferry_network"
max_batch_size: 32
input { name: "input_ids" data_type: TYPE_INT64 dims: 128 }
input { name: "attention_mask" data_type: TYPE_INT64 dims: 128 }
output { name: "embedding" data_type: TYPE_FP32 dims: 384 }
dynamic_batching {}
parameters { key: "ferry.network" value { string_value: "encoder" } }
)";

}  // namespace

std::vector<std::string> EmbeddedModelNames() {
  return {"encoder", "mlp", "resnet50"};
}

const char* FindEmbeddedConfig(const std::string& name) {
  if (name == "mlp") {
    return kMlp;
  }
  if (name == "resnet50") {
    return kResNet50;
  }
  if (name == "encoder") {
    return kEncoder;
  }
  return nullptr;
}

}  // namespace ferry
