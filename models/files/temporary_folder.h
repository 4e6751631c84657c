// TemporaryFolder is a folder of this process in $TMPDIR, or in /tmp: of what
// is unpacked of a package, or of a model's files that were checked.
//
// It goes with its object. Where the process ends without that (_exit(), a
// crash, SIGKILL), Sweep() or the next Create(), of any process of this user,
// removes it: a folder is in use while its owner holds a lock on it, which ends
// with the process. A process id would not do, as each container has its own.
//
// Thread safety: thread-compatible; Create() and Sweep() from any thread.
#ifndef FERRY_MODELS_FILES_TEMPORARY_FOLDER_H_
#define FERRY_MODELS_FILES_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace ferry {

class TemporaryFolder {
 public:
  // What it is for, which its name begins with.
  enum class Use { kUnpackedCode, kCheckedFiles };

  // FAILED_PRECONDITION where $TMPDIR, or /tmp, takes no folder, or runs no
  // code that is unpacked to it.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create(Use use);

  // Removes the folders, for whatever use, whose owners are gone.
  static void Sweep();

  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  TemporaryFolder(std::string path, OwnedFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const OwnedFd lock_;  // the folder's descriptor
};

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_TEMPORARY_FOLDER_H_
