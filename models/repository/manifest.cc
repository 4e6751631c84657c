// Implements CheckManifests: reads manifests and compares them with the files.
#include "models/repository/manifest.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "models/config/warm_up_data.h"
#include "models/files/read_file.h"
#include "models/files/sha256.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestLength = 64;
constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr size_t kMaxFindings = 8;

using Digests = std::map<std::string, std::string>;  // by path in the folder

// Reads "<digest>  <path>" or "<digest> *<path>".
absl::Status ReadLine(absl::string_view line, Digests& digests) {
  const absl::string_view digest = line.substr(0, kDigestLength);
  absl::string_view path = line.substr(digest.size());
  const bool is_good =
      digest.size() == kDigestLength &&
      std::all_of(digest.begin(), digest.end(),
                  [](char c) {
                    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                  }) &&
      (absl::ConsumePrefix(&path, "  ") || absl::ConsumePrefix(&path, " *"));
  const fs::path normal = fs::path(std::string(path)).lexically_normal();
  if (!is_good || normal.empty() || normal.is_absolute() ||
      *normal.begin() == "..") {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected '<64 hexadecimal digits>  <path in the folder>', got '",
        PrintableText(line, 2 * kDigestLength), "'"));
  }
  digests[normal.string()] = absl::AsciiStrToLower(digest);
  return absl::OkStatus();
}

// Returns nothing where the folder has no manifest.
absl::StatusOr<std::optional<Digests>> ReadManifest(const fs::path& folder) {
  const fs::path path = folder / kManifestFile;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    return std::nullopt;
  }
  const absl::StatusOr<std::string> text = ReadFile(path.string(), kMaxBytes);
  if (!text.ok()) {
    return text.status();
  }
  Digests digests;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (line.empty()) {
      continue;
    }
    if (absl::Status status = ReadLine(line, digests); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path.string(), "':", number, ": ", status.message()));
    }
  }
  return digests;
}

// The files below `folder`, by their paths in it; without manifests.
template <typename Iterator>
absl::StatusOr<std::set<std::string>> ListFiles(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (Iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored) &&
        entry->path().filename() != kManifestFile) {
      files.insert(entry->path().lexically_relative(folder).string());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot read the folder '", folder.string(), "': ", error.message()));
  }
  return files;
}

class ManifestCheck {
 public:
  // `files` must be in the manifest; no manifest: none is for them.
  void Check(const fs::path& folder, const std::set<std::string>& files,
             const std::optional<Digests>& manifest, ManifestUse use) {
    const std::string name = (folder / kManifestFile).string();
    if (!manifest.has_value()) {
      if (use == ManifestUse::kRequired && !files.empty()) {
        Add(folder / *files.begin(),
            absl::StrCat("expected a line in '", name,
                         "', which --require-manifest asks for, got none"));
      }
      return;
    }
    for (const std::string& file : files) {
      if (manifest->count(file) == 0) {
        Add(folder / file,
            absl::StrCat("expected a line in '", name, "', got none"));
      }
    }
    for (const auto& [file, expected] : *manifest) {
      CompareDigest(folder / file, expected);
    }
  }

  absl::Status ToStatus() const {
    if (diagnostics_.empty()) {
      return absl::OkStatus();
    }
    std::vector<std::string> told = diagnostics_;
    if (told.size() > kMaxFindings) {
      told.resize(kMaxFindings);
      told.push_back(
          absl::StrCat("and ", diagnostics_.size() - kMaxFindings, " more"));
    }
    return absl::InvalidArgumentError(absl::StrJoin(told, "\n"));
  }

 private:
  void Add(const fs::path& path, const std::string& text) {
    diagnostics_.push_back(absl::StrCat("'", path.string(), "': ", text));
  }

  void CompareDigest(const fs::path& path, const std::string& expected) {
    const absl::StatusOr<std::string> found = Sha256OfFile(path.string());
    if (!found.ok()) {
      Add(path, absl::StrCat("expected a file with SHA-256 ", expected, ", ",
                             found.status().message()));
    } else if (*found != expected) {
      Add(path, absl::StrCat("expected SHA-256 ", expected, ", got ", *found));
    }
  }

  std::vector<std::string> diagnostics_;
};

}  // namespace

absl::Status CheckManifests(const VersionFolder& version, ManifestUse use) {
  const fs::path version_path(version.path);
  const fs::path model_path = version_path.parent_path();
  auto of_version = ReadManifest(version_path);
  auto of_model = ReadManifest(model_path);
  auto version_files =
      ListFiles<fs::recursive_directory_iterator>(version_path);
  auto model_files = ListFiles<fs::directory_iterator>(model_path);
  auto warm_up_files =
      ListFiles<fs::recursive_directory_iterator>(model_path / kWarmUpFolder);
  for (const absl::Status& status :
       {of_version.status(), of_model.status(), version_files.status(),
        model_files.status(), warm_up_files.status()}) {
    if (!status.ok()) {
      return status;
    }
  }
  const std::string prefix =
      absl::StrCat(version_path.filename().string(), "/");
  const std::string warm_up_prefix = absl::StrCat(kWarmUpFolder, "/");
  if (of_model->has_value()) {
    // Other versions have their own turn.
    std::erase_if(**of_model, [&](const auto& line) {
      return line.first.find('/') != std::string::npos &&
             !absl::StartsWith(line.first, warm_up_prefix) &&
             (!absl::StartsWith(line.first, prefix) || of_version->has_value());
    });
  }
  for (const std::string& file : *warm_up_files) {
    model_files->insert(warm_up_prefix + file);
  }
  if (!of_version->has_value()) {
    for (const std::string& file : *version_files) {
      model_files->insert(absl::StrCat(prefix, file));
    }
    version_files->clear();
  }
  ManifestCheck check;
  check.Check(version_path, *version_files, *of_version, use);
  check.Check(model_path, *model_files, *of_model, use);
  return check.ToStatus();
}

}  // namespace ferry
