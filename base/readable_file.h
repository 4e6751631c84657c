// OpenToRead() opens a file, or says why it cannot be read.
//
// Thread safety: thread-safe.
#ifndef FERRY_BASE_READABLE_FILE_H_
#define FERRY_BASE_READABLE_FILE_H_

#include <fstream>
#include <string>

#include "absl/status/statusor.h"

namespace ferry {

// Errors: NOT_FOUND, "cannot read PATH: " and what the system says; also for a
// folder, which a stream opens and then reads as empty.
absl::StatusOr<std::ifstream> OpenToRead(const std::string& path);

}  // namespace ferry

#endif  // FERRY_BASE_READABLE_FILE_H_
