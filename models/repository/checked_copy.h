// CheckedCopy holds the files of one version as their manifests list them, for
// as long as it is loaded: what was checked is what is read.
//
// The files are read once, by the model's folder's descriptor. The bytes that
// the digests are compared with are those of the copy, which only this process
// and its user can write to, so that a write to the repository during the load
// changes nothing of it.
//
// Thread safety: const after Make().
#ifndef FERRY_MODELS_REPOSITORY_CHECKED_COPY_H_
#define FERRY_MODELS_REPOSITORY_CHECKED_COPY_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/files/temporary_folder.h"
#include "models/repository/manifest.h"
#include "models/repository/model_copies.h"

namespace ferry {

class CheckedCopy {
 public:
  // Errors: those of CheckManifests() with manifests required, and of
  // TemporaryFolder::Create().
  static absl::StatusOr<CheckedCopy> Make(const VersionFolder& version,
                                          const ManifestRules& rules);

  // Where the version lies in the copy, with the model's files beside it.
  const VersionFolder& folder() const { return folder_; }

  // OK where that text is the config.pbtxt of the copy, "" being that of none.
  // UNAVAILABLE where it is another: it was read before the manifest was.
  absl::Status CheckConfig(absl::string_view text) const;

  // A status of a load from the copy, with the paths of the repository.
  absl::Status InRepository(const absl::Status& status) const;

 private:
  CheckedCopy(std::string model_path,
              std::unique_ptr<TemporaryFolder> temporary, VersionFolder folder)
      : model_path_(std::move(model_path)),
        temporary_(std::move(temporary)),
        folder_(std::move(folder)) {}

  std::string model_path_;
  std::unique_ptr<TemporaryFolder> temporary_;
  VersionFolder folder_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_CHECKED_COPY_H_
