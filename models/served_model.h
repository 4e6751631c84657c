// ServedModel: one version of a model, ready to take requests.
//
// Thread safety: const after construction; its Batcher is thread-safe.
#ifndef FERRY_MODELS_SERVED_MODEL_H_
#define FERRY_MODELS_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "batcher/batcher.h"
#include "batcher/tensor.h"
#include "proto/model_config.pb.h"

namespace ferry {

struct ServedModel {
  std::string name;
  int64_t version = 1;
  // "pytorch_libtorch", "ferry_network", "ferry_sim" or "ferry_echo".
  std::string platform;
  // As ModelConfig answers it: what was read, completed with what is in force.
  inference::ModelConfig config;
  ModelSpec spec;
  // Whether the device is simulated, so that results can say so.
  bool is_simulated = false;
  std::unique_ptr<Batcher> batcher;
};

}  // namespace ferry

#endif  // FERRY_MODELS_SERVED_MODEL_H_
