// AdviceOnFile and AdviceOnBackend know the usual names of what Ferry does not
// serve, and say what to do instead.
//
// Thread safety: free functions over constants.
#ifndef FERRY_MODELS_CONFIG_NOT_SERVED_H_
#define FERRY_MODELS_CONFIG_NOT_SERVED_H_

#include "absl/strings/string_view.h"

namespace ferry {

// Returns why a file of that name, by its ending, cannot be served and what to
// do instead; empty where it may be served.
absl::string_view AdviceOnFile(absl::string_view name);

// The same of a `backend` or `platform` of a config; empty for those that are
// unknown.
absl::string_view AdviceOnBackend(absl::string_view name);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_NOT_SERVED_H_
