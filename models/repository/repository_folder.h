// ListModels and ListVersions read the layout of a model repository.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_REPOSITORY_REPOSITORY_FOLDER_H_
#define FERRY_MODELS_REPOSITORY_REPOSITORY_FOLDER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"
#include "models/repository/model_copies.h"

namespace ferry {

inline constexpr size_t kMaxNameLength = 64;

// Ends the message on a folder that lacks what a model has.
inline constexpr char kEachFolderIsAModel[] =
    "; each folder of a model repository is a model, unless its name begins "
    "with '.' or --load-model leaves it out";

// Returns the first of the names for a message, each in quotes where those are
// given.
template <typename Names>
std::string Some(const Names& names, absl::string_view quote = "") {
  constexpr size_t kMost = 8;
  std::vector<std::string> some;
  for (const auto& name : names) {
    if (some.size() == kMost) {
      some.emplace_back("...");
      break;
    }
    some.push_back(absl::StrCat(
        quote, PrintableText(absl::StrCat(name), kMaxNameLength), quote));
  }
  return absl::StrJoin(some, ", ");
}

// OK for 1 to 64 of letters, digits, '.', '_' and '-' that do not begin with
// '.', so that a name never leaves its folder.
absl::Status CheckModelName(const std::string& name);

// OK where the model's folder, with all links in the path resolved, lies in the
// repository. NOT_FOUND where there is none.
absl::Status CheckInside(const std::string& repository_path,
                         const std::string& name);

// OK where the path, with links resolved, lies in the repository. It may be
// missing: the code that reads it says so.
absl::Status CheckPathInside(const std::string& repository_path,
                             const std::string& path);

// OK where all files of the version and those beside its folder, with links
// resolved, lie in the repository and are files: no pipe, socket or device.
absl::Status CheckFilesInside(const std::string& repository_path,
                              const VersionFolder& folder);

// Returns a text that changes when a file of the version, or one beside its
// folder but the config, is replaced or written: names, sizes and times of
// change. Empty for a model without files.
std::string FingerprintOf(const VersionFolder& folder);

// The same of one file; empty where it is none.
std::string FingerprintOf(const std::string& path);

// What stands in a model repository.
struct RepositoryNames {
  std::vector<std::string> models;  // sorted
  // Folders and links that are no models, by name, and why.
  std::map<std::string, std::string> passed_over = {};
};

// Lists the folder; what is hidden, and files, are left out. A model's folder
// may turn out not to be readable. NOT_FOUND where `path` is no folder or
// cannot be read.
absl::StatusOr<RepositoryNames> ListModels(const std::string& path);

// Returns what is to be said of a folder that holds no model that can be
// served: that it is a model's own, or which files lie in it; "" of others.
std::string HintOnLayout(const std::string& path);

// Returns the version folders that the config chooses, ascending. NOT_FOUND
// where there is none but the model needs a file.
absl::StatusOr<std::vector<VersionFolder>> ListVersions(
    const std::string& model_path, const ModelOptions& options);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_REPOSITORY_FOLDER_H_
