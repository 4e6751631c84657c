// IsNear tells keys that were mistyped from keys that mean something else.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_CONFIG_NEAR_KEY_H_
#define FERRY_MODELS_CONFIG_NEAR_KEY_H_

#include "absl/strings/string_view.h"

namespace ferry {

// Whether one was probably meant by the other: alike but for capitals, '-', '_'
// and '.', and for two letters that were left out, added, changed or swapped;
// or the key is the begin of the known one, of eight letters at least.
bool IsNear(absl::string_view key, absl::string_view known);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_NEAR_KEY_H_
