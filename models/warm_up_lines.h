// WarmUpLines writes the lines of config.pbtxt that name a row to warm up with.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_WARM_UP_LINES_H_
#define FERRY_MODELS_WARM_UP_LINES_H_

#include <string>

#include "tensor/tensor.h"

namespace ferry {

// Returns what to do about a model that fails with rows that were made up: in
// words, then lines to paste, a line for each input.
std::string WarmUpLines(const ModelSpec& spec);

}  // namespace ferry

#endif  // FERRY_MODELS_WARM_UP_LINES_H_
