// ReadLabels reads the names of an output's classes: one a line, index 0 first.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_LABEL_FILE_H_
#define FERRY_MODELS_CONFIG_LABEL_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry {

// NOT_FOUND where the file cannot be read, INVALID_ARGUMENT where it is none,
// empty or larger than 16 MiB. White space around a name is dropped.
absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_LABEL_FILE_H_
