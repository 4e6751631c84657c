// ParseManifest reads the text of a MANIFEST.sha256.
//
// Thread safety: free function.
// Errors: INVALID_ARGUMENT with the number of the line, what was expected and
// what was found.
#ifndef FERRY_MODELS_REPOSITORY_MANIFEST_TEXT_H_
#define FERRY_MODELS_REPOSITORY_MANIFEST_TEXT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferry {

// SHA-256 in 64 small hexadecimal digits, by path in the folder: normal,
// relative, a file's, and never out of it.
using Digests = std::map<std::string, std::string>;

// Reads lines of "<digest>  <path>" or "<digest> *<path>", as `sha256sum`
// prints them. Of a path that comes twice the last line counts.
absl::StatusOr<Digests> ParseManifest(absl::string_view text);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MANIFEST_TEXT_H_
