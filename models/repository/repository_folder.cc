// Implements ListModels and ListVersions: lists folders, chooses versions.
#include "models/repository/repository_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "models/config/model_config.h"
#include "models/config/warm_up_data.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

// NOT_FOUND where nothing is there, else UNAVAILABLE: it may be read later.
absl::Status SystemError(const std::error_code& error, std::string message) {
  return error == std::errc::no_such_file_or_directory ||
                 error == std::errc::not_a_directory
             ? absl::NotFoundError(message)
             : absl::UnavailableError(message);
}

// Calls `visit` with what lies in the folder; it says why an entry cannot be
// looked at.
absl::Status ForEachEntry(
    const std::string& path,
    absl::FunctionRef<void(const std::string& name, bool is_folder,
                           const std::error_code& error)>
        visit) {
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code entry_error;
    const bool is_folder = entry->is_directory(entry_error);
    visit(entry->path().filename().string(), is_folder, entry_error);
  }
  return error ? SystemError(error, absl::StrCat("cannot read the folder '",
                                                 path, "': ", error.message()))
               : absl::OkStatus();
}

// Returns the number of a folder's name that is a version's.
std::optional<int64_t> VersionOf(const std::string& name) {
  int64_t version = 0;
  return absl::SimpleAtoi(name, &version) && version >= 0 &&
                 absl::StrCat(version) == name
             ? std::optional(version)
             : std::nullopt;
}

// Returns the version folders; `others` are those beside them.
absl::StatusOr<std::set<int64_t>> FindVersions(const std::string& model_path,
                                               std::set<std::string>& others) {
  std::set<int64_t> versions;
  const absl::Status status = ForEachEntry(
      model_path,
      [&](const std::string& name, bool is_folder, const std::error_code&) {
        const std::optional<int64_t> version = VersionOf(name);
        if (is_folder && version.has_value()) {
          versions.insert(*version);
        } else if (is_folder && name != kWarmUpFolder) {
          others.insert(name);
        }
      });
  if (!status.ok()) {
    return status;
  }
  return versions;
}

absl::StatusOr<std::set<int64_t>> Choose(std::set<int64_t> found,
                                         const VersionChoice& choice) {
  switch (choice.kind) {
    case VersionChoice::Kind::kAll:
      return found;
    case VersionChoice::Kind::kLatest:
      while (static_cast<int64_t>(found.size()) > choice.latest_count) {
        found.erase(found.begin());
      }
      return found;
    default:
      break;
  }
  for (int64_t version : choice.versions) {
    if (!found.contains(version)) {
      return absl::NotFoundError(absl::StrCat(
          "version ", version,
          ", which version_policy names, has no folder; it may name: ",
          Some(found)));
    }
  }
  return std::set<int64_t>(choice.versions.begin(), choice.versions.end());
}

// Calls `visit` with all that is in the version and each file beside its
// folder and in that of warm-up data. Returns why it could not look at all of
// them; a folder that is missing has none.
std::error_code ForEachFile(const VersionFolder& folder,
                            absl::FunctionRef<void(const fs::path&)> visit) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder.path, error), end;
       !error && entry != end; entry.increment(error)) {
    visit(entry->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return error;
  }
  const fs::path model = fs::path(folder.path).parent_path();
  for (const fs::path& beside : {model / kWarmUpFolder, model}) {
    error.clear();
    for (fs::directory_iterator entry(beside, error), end;
         !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      if (!entry->is_directory(ignored)) {
        visit(entry->path());
      }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return error;
    }
  }
  return error;
}

}  // namespace

absl::Status CheckPathInside(const std::string& repository_path,
                             const std::string& path) {
  std::error_code error;
  const fs::path root = fs::canonical(repository_path, error);
  const fs::path resolved =
      error ? fs::path() : fs::weakly_canonical(path, error);
  if (error) {
    return SystemError(
        error, absl::StrCat("cannot read '", path, "': ", error.message()));
  }
  if (std::mismatch(root.begin(), root.end(), resolved.begin(), resolved.end())
          .first == root.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", path,
                   "': expected a path in the model repository, got a link "
                   "that leads out of it"));
}

absl::Status CheckModelName(const std::string& name) {
  const bool is_good =
      !name.empty() && name.size() <= kMaxNameLength && name[0] != '.' &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
               c == '_' || c == '-';
      });
  if (is_good) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "model name: expected 1 to ", kMaxNameLength,
      " of letters, digits, '.', '_' and '-', not beginning with '.', got '",
      PrintableText(name, 2 * kMaxNameLength), "'"));
}

std::string HintOnLayout(const std::string& path) {
  std::string of_model;  // what only a model's own folder holds
  bool has_models = false;
  std::set<std::string> files;
  ForEachEntry(path, [&](const std::string& name, bool is_folder,
                         const std::error_code&) {
    std::set<std::string> ignored;
    std::error_code ignored_error;
    const fs::path entry = fs::path(path) / name;
    if (!is_folder) {
      const std::string ending = entry.extension().string();
      if (ending == ".pt" || ending == ".pt2") {
        files.insert(name);
      }
    }
    const bool is_version = is_folder && VersionOf(name).has_value() &&
                            !fs::exists(entry / kConfigFile, ignored_error) &&
                            FindVersions(entry.string(), ignored)
                                .value_or(std::set<int64_t>())
                                .empty();
    has_models |=
        is_folder && !is_version && name != kWarmUpFolder && name[0] != '.';
    if (is_version || name == kConfigFile) {
      of_model = std::max(of_model, name);  // in whatever order they come
    }
  }).IgnoreError();
  if (has_models) {
    return "";
  }
  if (!of_model.empty()) {
    return absl::StrCat("; the model repository '", path,
                        "' is one model's folder, as it holds '", of_model,
                        "': give the folder that it lies in");
  }
  return files.empty()
             ? ""
             : absl::StrCat("; found ", Some(files),
                            ": --model FILE serves one without a folder");
}

absl::Status CheckInside(const std::string& repository_path,
                         const std::string& name) {
  std::error_code error;
  const fs::path model = fs::canonical(fs::path(repository_path) / name, error);
  if (error) {
    return SystemError(
        error, absl::StrCat("model '", name, "': expected a folder '", name,
                            "' in the model repository '", repository_path,
                            "': ", error.message()));
  }
  return CheckPathInside(repository_path,
                         absl::StrCat(repository_path, "/", name));
}

absl::Status CheckFilesInside(const std::string& repository_path,
                              const VersionFolder& folder) {
  absl::Status status;
  const std::error_code error = ForEachFile(folder, [&](const fs::path& path) {
    status.Update(CheckPathInside(repository_path, path.string()));
    std::error_code ignored;
    if (fs::is_other(path, ignored)) {  // neither file nor folder
      status.Update(CheckRegularFile(path.string()));
    }
  });
  if (error) {
    status.Update(
        SystemError(error, absl::StrCat("cannot read the folder '", folder.path,
                                        "': ", error.message())));
  }
  return status;
}

std::string FingerprintOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)
             ? absl::StrCat(path, " ", status.st_size, " ",
                            status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec,
                            "\n")
             : "";
}

std::string FingerprintOf(const VersionFolder& folder) {
  std::vector<std::string> files;
  // What cannot be read was said by CheckFilesInside().
  (void)ForEachFile(folder, [&files](const fs::path& path) {
    // What the config says is known by its message.
    if (path.filename() != kConfigFile) {
      files.push_back(FingerprintOf(path.string()));
    }
  });
  std::sort(files.begin(), files.end());
  return absl::StrJoin(files, "");
}

absl::StatusOr<RepositoryNames> ListModels(const std::string& path) {
  RepositoryNames names;
  const absl::Status status =
      ForEachEntry(path, [&](const std::string& name, bool is_folder,
                             const std::error_code& error) {
        if (name[0] == '.') {
          return;
        }
        const absl::Status checked = CheckModelName(name);
        if (error) {  // of a link that leads nowhere, too
          names.passed_over[name] =
              absl::StrCat("cannot look at it: ", error.message());
        } else if (is_folder && !checked.ok()) {
          names.passed_over[name] = std::string(checked.message());
        } else if (is_folder) {
          names.models.push_back(name);
        }
      });
  if (!status.ok()) {
    return absl::NotFoundError(
        absl::StrCat("model repository: ", status.message()));
  }
  std::sort(names.models.begin(), names.models.end());
  return names;
}

absl::StatusOr<std::vector<VersionFolder>> ListVersions(
    const std::string& model_path, const ModelOptions& options) {
  std::set<std::string> others;
  absl::StatusOr<std::set<int64_t>> found = FindVersions(model_path, others);
  if (!found.ok()) {
    return found.status();
  }
  if (found->empty() && !NeedsFile(options)) {
    found->insert(1);
  }
  if (found->empty()) {
    return absl::NotFoundError(absl::StrCat(
        "'", model_path, "': expected a version folder such as '1', got ",
        others.empty() ? "none" : Some(others, "'"), kEachFolderIsAModel));
  }
  absl::StatusOr<std::set<int64_t>> chosen =
      Choose(*std::move(found), options.versions);
  if (!chosen.ok()) {
    return chosen.status();
  }
  std::vector<VersionFolder> folders;
  for (int64_t version : *chosen) {
    folders.push_back({version, absl::StrCat(model_path, "/", version)});
  }
  return folders;
}

}  // namespace ferry
