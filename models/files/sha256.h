// Sha256OfFile computes the SHA-256 of a file, by OpenSSL.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_FILES_SHA256_H_
#define FERRY_MODELS_FILES_SHA256_H_

#include <string>

#include "absl/status/statusor.h"

namespace ferry {

// Returns the digest of a file's bytes in 64 small hexadecimal digits.
// NOT_FOUND where it cannot be read.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_SHA256_H_
