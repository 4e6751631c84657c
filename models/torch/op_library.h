// LoadOpLibrary opens a library of custom operators, which models call by name.
//
// Thread safety: one call at a time, before any model is loaded.
#ifndef FERRY_MODELS_TORCH_OP_LIBRARY_H_
#define FERRY_MODELS_TORCH_OP_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace ferry {

// Opens the library at `path`, which registers its operators, for good. Returns
// how many there are. NOT_FOUND where there is no file; INVALID_ARGUMENT with
// the loader's reason where it cannot be opened.
absl::StatusOr<int> LoadOpLibrary(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_OP_LIBRARY_H_
