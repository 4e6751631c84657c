// WarmUpLines writes the lines of config.pbtxt that name a row to warm up with.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_WARM_UP_LINES_H_
#define FERRY_MODELS_WARM_UP_LINES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "tensor/tensor.h"

namespace ferry {

// Returns what to do about a model that fails with rows that were made up: in
// words, then lines to paste, a line for each input.
std::string WarmUpLines(const ModelSpec& spec);

// Returns a failure that may end with "; " and such lines, without them.
absl::string_view WithoutWarmUpLines(absl::string_view failure);

// Returns the failure with `note` before those lines, which one can then paste.
std::string WithNote(absl::string_view failure, absl::string_view note);

}  // namespace ferry

#endif  // FERRY_MODELS_WARM_UP_LINES_H_
