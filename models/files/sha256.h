// Sha256OfFile computes the SHA-256 of a file, by OpenSSL.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_FILES_SHA256_H_
#define FERRY_MODELS_FILES_SHA256_H_

#include <string>

#include "absl/status/statusor.h"

namespace ferry {

// Returns the digest of a file's bytes in 64 small hexadecimal digits.
// NOT_FOUND where it cannot be read.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

// The same of an open file from its begin, as long as it is now; `path` names
// it in errors. Where `copy` is a descriptor, the bytes that the digest is of,
// read once, are also written there; below 0: they are not. RESOURCE_EXHAUSTED
// where `copy` does not take them.
absl::StatusOr<std::string> Sha256OfFile(int descriptor,
                                         const std::string& path, int copy);

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_SHA256_H_
