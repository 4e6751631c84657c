// What Ferry does not serve, by the names that people know it by, and what to
// do instead.
//
// Thread safety: free functions over constants.
#ifndef FERRY_MODELS_CONFIG_NOT_SERVED_H_
#define FERRY_MODELS_CONFIG_NOT_SERVED_H_

#include "absl/strings/string_view.h"

namespace ferry {

// Returns why a file of that name, by its ending, cannot be served and what to
// do instead; empty where it may be served.
absl::string_view AdviceOnFile(absl::string_view name);

// The same of a `backend` or `platform` of a config; empty for those that
// nobody knows.
absl::string_view AdviceOnBackend(absl::string_view name);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_NOT_SERVED_H_
