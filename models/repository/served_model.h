// ServedModel holds one version of a model that is ready to take requests.
//
// Thread safety: const after construction; its Scheduler is thread-safe.
#ifndef FERRY_MODELS_REPOSITORY_SERVED_MODEL_H_
#define FERRY_MODELS_REPOSITORY_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "batcher/scheduler.h"
#include "models/load_report.h"
#include "models/type_failures.h"
#include "proto/model_config.pb.h"
#include "tensor/tensor.h"

namespace ferry {

struct ServedModel {
  std::string name;
  int64_t version = 1;
  // "pytorch_libtorch", "ferry_network", "ferry_sim" or "ferry_echo".
  std::string platform;
  // The RPC ModelConfig answers this: what was read, completed with what is in
  // force.
  inference::ModelConfig config;
  // What one would keep as config.pbtxt: without defaults.
  inference::ModelConfig kept;
  // Lines of config.pbtxt for what its config left out and loading found; empty
  // where it left out nothing.
  std::string completed;
  // What its config says that has no effect here, and why where that is not
  // plain.
  std::vector<std::string> notes;
  ModelSpec spec;
  // [spec output][class]: names of its elements, or none.
  std::vector<std::vector<std::string>> labels;
  // Why the model did not run before it was ready; empty where it did.
  std::string warm_up_failure;
  // What loading found out about its precision; why_not_bf16 of one that is
  // served in another precision for that.
  LoadReport report;
  // The precision that its config asks for, or "default", and the one in force;
  // both empty where the backend has none to choose.
  std::string asked_precision;
  std::string serving_precision;
  // The largest error of an output against fp32, as a share of its largest
  // value: "0.0031"; "0" in fp32, "unknown" where it was not compared.
  std::string max_error;
  // Those of its batches, where it may be loaded in fp32 for them; else null.
  std::shared_ptr<TypeFailures> type_failures;
  // Whether the device is simulated, so that results can say so.
  bool is_simulated = false;
  // The level of requests that name none.
  int32_t default_level = 0;
  std::unique_ptr<Scheduler> scheduler;
};

// Returns the scheduler's level for a priority as clients write it: from 1, the
// most urgent; 0 and what the model does not have mean its default, as in
// Triton.
inline int32_t LevelOf(uint64_t priority, const ServedModel& model) {
  return priority >= 1 && priority <= model.scheduler->options().levels.size()
             ? static_cast<int32_t>(priority - 1)
             : model.default_level;
}

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_SERVED_MODEL_H_
