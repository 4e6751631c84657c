// CheckManifests checks a model's files by their digests in MANIFEST.sha256.
//
// A manifest is what `sha256sum` prints. It may lie in a version folder, for
// its files, and in the model's folder, for the files there and those of the
// version folders that have none of their own. All files that it is for must be
// in it, all that are in it must be there, with their digests. It finds files
// that are half copied, mixed up, or changed by mistake; not writes to the
// folder while it is loaded.
//
// Thread safety: free function.
// Errors: INVALID_ARGUMENT, one line for each file with what was expected and
// what was found.
#ifndef FERRY_MODELS_REPOSITORY_MANIFEST_H_
#define FERRY_MODELS_REPOSITORY_MANIFEST_H_

#include "absl/status/status.h"
#include "models/repository/model_copies.h"

namespace ferry {

inline constexpr char kManifestFile[] = "MANIFEST.sha256";

// Whether every file of a model must be in a manifest, or only where there is
// one.
enum class ManifestUse { kWhereThereIsOne, kRequired };

// Checks the files of one version and those beside its folder.
absl::Status CheckManifests(const VersionFolder& version, ManifestUse use);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MANIFEST_H_
