// Implements CheckedCopy: a temporary folder that CheckManifests() fills.
#include "models/repository/checked_copy.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "models/config/model_config.h"
#include "models/files/read_file.h"

namespace ferry {

absl::StatusOr<CheckedCopy> CheckedCopy::Make(const VersionFolder& version,
                                              const ManifestRules& rules) {
  absl::StatusOr<std::unique_ptr<TemporaryFolder>> temporary =
      TemporaryFolder::Create(TemporaryFolder::Use::kCheckedFiles);
  if (!temporary.ok()) {
    return temporary.status();
  }
  const std::string copy = (*temporary)->path();
  if (absl::Status status = CheckManifests(version, rules, copy);
      !status.ok()) {
    return status;
  }
  const std::filesystem::path path(version.path);
  VersionFolder folder = {version.version,
                          absl::StrCat(copy, "/", path.filename().string())};
  return CheckedCopy(path.parent_path().string(), *std::move(temporary),
                     std::move(folder));
}

absl::Status CheckedCopy::CheckConfig(absl::string_view text) const {
  absl::StatusOr<std::string> copied =
      ReadFile(absl::StrCat(temporary_->path(), "/", kConfigFile), text.size());
  if (absl::IsNotFound(copied.status())) {
    copied = "";
  }
  return copied.ok() && *copied == text
             ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat(
                   "'", model_path_, "/", kConfigFile,
                   "': expected a file that stays while it is read, it was "
                   "replaced before its manifest was checked: load it again"));
}

absl::Status CheckedCopy::InRepository(const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(),
                                          {{temporary_->path(), model_path_}}));
}

}  // namespace ferry
