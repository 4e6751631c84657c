// Line by line.
#include "models/label_file.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> labels;
  size_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    bytes += line.size();
    if (bytes > kMaxBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "label file '", path, "': expected at most ", kMaxBytes, " bytes"));
    }
    labels.emplace_back(absl::StripAsciiWhitespace(line));
  }
  if (labels.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "cannot read label file '", path,
        "', which label_filename names: expected one label a line"));
  }
  return labels;
}

}  // namespace ferry
