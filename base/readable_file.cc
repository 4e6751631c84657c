// Implements OpenToRead().
#include "base/readable_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry {

absl::StatusOr<std::ifstream> OpenToRead(const std::string& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  std::ifstream file(path, std::ios::binary);
  if (is_folder || !file) {
    return absl::NotFoundError(absl::StrCat(
        "cannot read ", path, ": ", std::strerror(is_folder ? EISDIR : errno)));
  }
  return file;
}

}  // namespace ferry
