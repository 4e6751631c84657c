// DescribeSingleModel makes a config from flags, for one file, no repository.
//
// Thread safety: free functions over plain values.
// Errors: INVALID_ARGUMENT with the flag, what was expected and what was found.
#ifndef FERRY_MODELS_REPOSITORY_SINGLE_MODEL_H_
#define FERRY_MODELS_REPOSITORY_SINGLE_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/model_config.pb.h"

namespace ferry {

// The flags hold this. Tensors are "NAME:TYPE:DIMS", as "x:FP32:-1,3,224,224":
// -1 first is the batch dimension. None: found by loading the model.
struct SingleModelFlags {
  std::string path;  // --model
  std::string name;  // --model-name; empty: from the file's
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

struct SingleModel {
  std::string path;
  std::string name;
  inference::ModelConfig config;
};

absl::StatusOr<SingleModel> DescribeSingleModel(const SingleModelFlags& flags);

// Returns OK for a file that may be a model: it is there and of no kind that
// Ferry does not serve.
absl::Status CheckModelFile(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_SINGLE_MODEL_H_
