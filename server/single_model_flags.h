// AddSingleModelFlags() adds the flags that serve a file without a repository.
//
// Thread safety: free function.
#ifndef FERRY_SERVER_SINGLE_MODEL_FLAGS_H_
#define FERRY_SERVER_SINGLE_MODEL_FLAGS_H_

#include <CLI/CLI.hpp>

#include "models/repository/single_model.h"

namespace ferry {

// Adds --model, --model-name, --input and --output. REQUIRES: `app` has
// --model-repository and --load-model, which exclude it.
void AddSingleModelFlags(CLI::App& app, SingleModelFlags& flags);

}  // namespace ferry

#endif  // FERRY_SERVER_SINGLE_MODEL_FLAGS_H_
