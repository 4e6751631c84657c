// Implements CheckManifests: reads manifests and compares them with the files.
#include "models/repository/manifest.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/config/warm_up_data.h"
#include "models/files/folder_reader.h"
#include "models/files/sha256.h"
#include "models/repository/manifest_text.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr size_t kMaxFindings = 8;

using Files = std::set<std::string>;  // by path in the model's folder
using Depth = FolderReader::Depth;

// Lines of one manifest, by path in the model's folder.
struct Manifest {
  std::string path;                     // as messages have it
  std::optional<Digests> digests = {};  // none: there is none
};

absl::Status CheckSignature(const FolderReader& model, const std::string& path,
                            const std::string& text, const Ed25519Key& key) {
  const std::string signature_path =
      absl::StrCat(path.substr(0, path.rfind('/') + 1), kSignatureFile);
  constexpr size_t kSize = Ed25519Key::kSignatureBytes;
  const absl::StatusOr<std::string> signature =
      model.ReadFile(signature_path, kSize);
  if (absl::IsNotFound(signature.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", model.Shown(path), "': expected its signature in '",
                     kSignatureFile,
                     "' beside it, which --manifest-key asks for, got none: "
                     "sign it, as scripts/sign_model.sh does"));
  }
  if (!signature.ok()) {
    return signature.status();
  }
  if (signature->size() != kSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", model.Shown(signature_path), "': expected ", kSize,
        " bytes, a raw Ed25519 signature, got ", signature->size()));
  }
  return key.Verifies(text, *signature)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "'", model.Shown(path), "': expected the text that '",
                   kSignatureFile, "' signs by the key in '", key.path(),
                   "', got another, or the signature is of another key: "
                   "restore both files, or sign it anew"));
}

// Returns no digests where `folder`, "" or one that ends in '/', has none.
absl::StatusOr<Manifest> ReadManifest(const FolderReader& model,
                                      const std::string& folder,
                                      const std::optional<Ed25519Key>& key) {
  const std::string path = absl::StrCat(folder, kManifestFile);
  Manifest manifest = {.path = model.Shown(path)};
  const absl::StatusOr<std::string> text = model.ReadFile(path, kMaxBytes);
  if (absl::IsNotFound(text.status())) {
    return manifest;
  }
  if (!text.ok()) {
    return text.status();
  }
  if (key.has_value()) {
    if (absl::Status status = CheckSignature(model, path, *text, *key);
        !status.ok()) {
      return status;
    }
  }
  const absl::StatusOr<Digests> digests = ParseManifest(*text);
  if (!digests.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", manifest.path, "':", digests.status().message()));
  }
  manifest.digests.emplace();
  for (const auto& [file, digest] : *digests) {
    manifest.digests->emplace(absl::StrCat(folder, file), digest);
  }
  return manifest;
}

// Adds files of a folder, without manifests and their signatures.
absl::Status AddFiles(const FolderReader& model, const std::string& folder,
                      Depth depth, Files& files) {
  const absl::StatusOr<Files> found = model.ListFiles(folder, depth);
  if (!found.ok()) {
    return found.status();
  }
  for (const std::string& file : *found) {
    const std::string name = fs::path(file).filename().string();
    if (name != kManifestFile && name != kSignatureFile) {
      files.insert(file);
    }
  }
  return absl::OkStatus();
}

class ManifestCheck {
 public:
  ManifestCheck(const FolderReader& model, ManifestUse use, std::string copy_to)
      : model_(model), use_(use), copy_to_(std::move(copy_to)) {}

  // `files` must be in the manifest; no manifest: none is for them.
  void Check(const Files& files, const Manifest& manifest) {
    if (!manifest.digests.has_value()) {
      if (use_ == ManifestUse::kRequired && !files.empty()) {
        Add(absl::InvalidArgumentError(absl::StrCat(
            "'", model_.Shown(*files.begin()), "': expected a line in '",
            manifest.path, "', which --require-manifest asks for, got none")));
      }
      return;
    }
    for (const std::string& file : files) {
      if (manifest.digests->count(file) == 0) {
        Add(absl::InvalidArgumentError(
            absl::StrCat("'", model_.Shown(file), "': expected a line in '",
                         manifest.path, "', got none")));
      }
    }
    for (const auto& [file, expected] : *manifest.digests) {
      CompareDigest(file, expected);
    }
  }

  absl::Status ToStatus() const {
    std::vector<std::string> told = findings_;
    if (told.size() > kMaxFindings) {
      told.resize(kMaxFindings);
      told.push_back(
          absl::StrCat("and ", findings_.size() - kMaxFindings, " more"));
    }
    return absl::Status(code_, absl::StrJoin(told, "\n"));
  }

 private:
  // What may pass decides on the code, so that it is tried again.
  void Add(const absl::Status& finding) {
    const bool is_of_files =
        absl::IsInvalidArgument(finding) || absl::IsNotFound(finding);
    if (!is_of_files) {
      code_ = finding.code();
    } else if (code_ == absl::StatusCode::kOk) {
      code_ = absl::StatusCode::kInvalidArgument;
    }
    findings_.emplace_back(finding.message());
  }

  absl::StatusOr<OwnedFd> MakeCopy(const std::string& file) const {
    const fs::path path = fs::path(copy_to_) / file;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    OwnedFd copy(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
    if (copy.get() < 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot make a copy of '", model_.Shown(file), "', '", path.string(),
          "': ", std::strerror(errno), "; TMPDIR names another folder"));
    }
    return copy;
  }

  // Reads the file once, and copies what it compares where that is asked for.
  absl::StatusOr<std::string> Digest(const std::string& file) const {
    const absl::StatusOr<OwnedFd> opened = model_.OpenFile(file);
    if (!opened.ok()) {
      return opened.status();
    }
    absl::StatusOr<OwnedFd> copy = OwnedFd();
    if (use_ == ManifestUse::kRequired && !copy_to_.empty()) {
      copy = MakeCopy(file);
    }
    if (!copy.ok()) {
      return copy.status();
    }
    return Sha256OfFile(opened->get(), model_.Shown(file), copy->get());
  }

  void CompareDigest(const std::string& file, const std::string& expected) {
    const absl::StatusOr<std::string> found = Digest(file);
    if (!found.ok()) {
      Add(absl::Status(found.status().code(),
                       absl::StrCat("'", model_.Shown(file),
                                    "': expected a file with SHA-256 ",
                                    expected, ", ", found.status().message())));
    } else if (*found != expected) {
      Add(absl::InvalidArgumentError(absl::StrCat("'", model_.Shown(file),
                                                  "': expected SHA-256 ",
                                                  expected, ", got ", *found)));
    }
  }

  const FolderReader& model_;
  const ManifestUse use_;
  const std::string copy_to_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::vector<std::string> findings_;
};

}  // namespace

absl::Status CheckManifests(const VersionFolder& version,
                            const ManifestRules& rules,
                            const std::string& copy_to) {
  const fs::path version_path(version.path);
  const std::string name = version_path.filename().string();
  const std::string prefix = absl::StrCat(name, "/");
  const absl::StatusOr<FolderReader> model = FolderReader::Open(
      version_path.parent_path().string(),
      rules.use == ManifestUse::kRequired ? FolderReader::Links::kRefused
                                          : FolderReader::Links::kFollowed);
  if (!model.ok()) {
    return model.status();
  }
  absl::StatusOr<Manifest> of_version = ReadManifest(*model, prefix, rules.key);
  if (!of_version.ok()) {
    return of_version.status();
  }
  absl::StatusOr<Manifest> of_model = ReadManifest(*model, "", rules.key);
  if (!of_model.ok()) {
    return of_model.status();
  }
  const bool has_own = of_version->digests.has_value();
  Files version_files;
  Files model_files;
  absl::Status status = AddFiles(*model, name, Depth::kAllBelow,
                                 has_own ? version_files : model_files);
  status.Update(AddFiles(*model, "", Depth::kFolderAlone, model_files));
  status.Update(AddFiles(*model, kWarmUpFolder, Depth::kAllBelow, model_files));
  if (!status.ok()) {
    return status;
  }
  if (of_model->digests.has_value()) {
    // Other versions have their own turn.
    const std::string warm_up_prefix = absl::StrCat(kWarmUpFolder, "/");
    std::erase_if(*of_model->digests, [&](const auto& line) {
      return absl::StrContains(line.first, '/') &&
             !absl::StartsWith(line.first, warm_up_prefix) &&
             (!absl::StartsWith(line.first, prefix) || has_own);
    });
  }
  ManifestCheck check(*model, rules.use, copy_to);
  check.Check(version_files, *of_version);
  check.Check(model_files, *of_model);
  return check.ToStatus();
}

}  // namespace ferry
