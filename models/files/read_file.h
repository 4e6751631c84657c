// ReadFile reads regular files and refuses all else: a pipe would be waited
// for, a device read without end.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_FILES_READ_FILE_H_
#define FERRY_MODELS_FILES_READ_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferry {

// Opens a regular file for reading and returns its descriptor, which the caller
// closes. NOT_FOUND where it cannot be opened, INVALID_ARGUMENT where it is
// something else. Never waits.
absl::StatusOr<int> OpenRegularFile(const std::string& path);

// Returns all of a regular file. INVALID_ARGUMENT where it has more than
// `max_bytes`; else errors as above.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

// The same of an open file from its offset on; `path` is for messages.
absl::StatusOr<std::string> ReadFile(int descriptor, const std::string& path,
                                     size_t max_bytes);

// Returns OK for a regular file, also through links; errors as above.
absl::Status CheckRegularFile(const std::string& path);

// The same of what is open.
absl::Status CheckRegularFile(int descriptor, const std::string& path);

// The error of what is there but is no regular file.
absl::Status NoFile(const std::string& path, mode_t mode);

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_READ_FILE_H_
