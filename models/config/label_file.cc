// Implements ReadLabels: splits a file into lines.
#include "models/config/label_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxBytes);
  if (!text.ok()) {
    return absl::Status(
        text.status().code(),
        absl::StrCat("label_filename: ", text.status().message()));
  }
  if (text->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "label_filename: '", path, "': expected one label a line, got none"));
  }
  std::vector<std::string> labels;
  for (absl::string_view line :
       absl::StrSplit(absl::StripSuffix(*text, "\n"), '\n')) {
    labels.emplace_back(absl::StripAsciiWhitespace(line));
  }
  return labels;
}

}  // namespace ferry
