// CheckManifests checks a model's files by their digests in MANIFEST.sha256.
//
// A manifest is what `sha256sum` prints. It may lie in a version folder, for
// its files, and in the model's folder, for the files there and those of the
// version folders that have none of their own. All files that it is for must be
// in it, all that are in it must be there, with their digests. With a key, the
// raw Ed25519 signature of its bytes lies beside it, in MANIFEST.sha256.sig,
// and is checked before a line of it is read.
//
// Where a manifest is there but not required it finds files that are half
// copied, mixed up, or changed by mistake; not writes to the folder while it is
// loaded. Where it is required no link is followed, and each byte is read once:
// its digest is checked and it is copied to a folder of the caller's, from
// which the model is loaded (CheckedCopy).
//
// Thread safety: free function.
// Errors: INVALID_ARGUMENT, one line for each file with what was expected and
// what was found; UNAVAILABLE or RESOURCE_EXHAUSTED where a file cannot be read
// or copied now.
#ifndef FERRY_MODELS_REPOSITORY_MANIFEST_H_
#define FERRY_MODELS_REPOSITORY_MANIFEST_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "models/files/ed25519_key.h"
#include "models/repository/model_copies.h"

namespace ferry {

inline constexpr char kManifestFile[] = "MANIFEST.sha256";
inline constexpr char kSignatureFile[] = "MANIFEST.sha256.sig";

// Whether every file of a model must be in a manifest, or only where there is
// one.
enum class ManifestUse { kWhereThereIsOne, kRequired };

struct ManifestRules {
  ManifestUse use = ManifestUse::kWhereThereIsOne;
  // What has signed each manifest; none: signatures are not looked at.
  std::optional<Ed25519Key> key = {};
};

// Checks the files of one version and those beside its folder. Where manifests
// are required, the files that they list are copied to `copy_to`, an empty
// folder that stands for the model's; else it is not used.
absl::Status CheckManifests(const VersionFolder& version,
                            const ManifestRules& rules,
                            const std::string& copy_to = "");

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MANIFEST_H_
