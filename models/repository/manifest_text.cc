// Implements ParseManifest: reads line by line.
#include "models/repository/manifest_text.h"

#include <algorithm>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestLength = 64;

bool IsDigest(absl::string_view text) {
  return text.size() == kDigestLength &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
         });
}

// Whether the path, which is normal, is that of a file in the folder.
bool IsInside(const fs::path& path) {
  return path.has_filename() && !path.is_absolute() && path != "." &&
         *path.begin() != ".." && path.native().find('\0') == std::string::npos;
}

absl::Status ReadLine(absl::string_view line, Digests& digests) {
  const absl::string_view digest = line.substr(0, kDigestLength);
  absl::string_view path = line.substr(digest.size());
  const bool is_good = IsDigest(digest) && (absl::ConsumePrefix(&path, "  ") ||
                                            absl::ConsumePrefix(&path, " *"));
  const fs::path normal = fs::path(std::string(path)).lexically_normal();
  if (!is_good || !IsInside(normal)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected '<64 hexadecimal digits>  <path in the folder>', got '",
        PrintableText(line, 2 * kDigestLength), "'"));
  }
  digests[normal.string()] = absl::AsciiStrToLower(digest);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Digests> ParseManifest(absl::string_view text) {
  Digests digests;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) {
      continue;
    }
    if (absl::Status status = ReadLine(line, digests); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(number, ": ", status.message()));
    }
  }
  return digests;
}

}  // namespace ferry
