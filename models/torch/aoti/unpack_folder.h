// UnpackFolder is a temporary folder for what is unpacked of one package.
//
// It goes with its object. Where the process ends without that (_exit(), a
// crash, SIGKILL), the next folder's Create(), of any process, removes it: a
// folder is in use while its owner holds a lock on it, which ends with the
// process.
//
// Thread safety: thread-compatible; Create() from any thread.
#ifndef FERRY_MODELS_TORCH_AOTI_UNPACK_FOLDER_H_
#define FERRY_MODELS_TORCH_AOTI_UNPACK_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace ferry {

class UnpackFolder {
 public:
  // FAILED_PRECONDITION where $TMPDIR, or /tmp, takes no folder.
  static absl::StatusOr<std::unique_ptr<UnpackFolder>> Create();
  ~UnpackFolder();
  UnpackFolder(const UnpackFolder&) = delete;
  UnpackFolder& operator=(const UnpackFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  UnpackFolder(std::string path, int lock)
      : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // the folder's descriptor
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_UNPACK_FOLDER_H_
