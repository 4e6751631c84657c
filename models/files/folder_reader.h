// FolderReader reads the files below one folder by the folder's descriptor.
//
// Each name is looked up in the folder that was opened, whatever has taken its
// path since. Where links are refused, each folder on the way is opened by its
// own name in the one before it, without following a link, so that what is read
// lies below the folder.
//
// Thread safety: const after Open().
// Errors: NOT_FOUND where nothing is there; INVALID_ARGUMENT for a link that is
// refused, and for what is no file or folder; UNAVAILABLE where the system does
// not let it be read, which may pass. Each names the path.
#ifndef FERRY_MODELS_FILES_FOLDER_READER_H_
#define FERRY_MODELS_FILES_FOLDER_READER_H_

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace ferry {

class FolderReader {
 public:
  enum class Links { kFollowed, kRefused };
  enum class Depth { kFolderAlone, kAllBelow };

  // Opens a folder. Where links are refused it is none itself; those on the way
  // to it are the caller's and are followed.
  static absl::StatusOr<FolderReader> Open(const std::string& path,
                                           Links links);

  // Opens a regular file by its path in the folder, which is normal and has no
  // "..". Never waits.
  absl::StatusOr<OwnedFd> OpenFile(const std::string& path) const;

  // Returns all of such a file; INVALID_ARGUMENT past `max_bytes`.
  absl::StatusOr<std::string> ReadFile(const std::string& path,
                                       size_t max_bytes) const;

  // Returns the paths of the files in that folder of it, "" being itself: all
  // that is no folder, a refused link included. A folder that is missing has
  // none; one behind a link is passed over where it is not `folder`.
  absl::StatusOr<std::set<std::string>> ListFiles(const std::string& folder,
                                                  Depth depth) const;

  // The path in the folder as messages have it.
  std::string Shown(const std::string& path) const;

 private:
  FolderReader(std::string path, Links links, OwnedFd folder)
      : path_(std::move(path)), links_(links), folder_(std::move(folder)) {}

  absl::StatusOr<OwnedFd> OpenBelow(const std::string& path,
                                    bool is_folder) const;
  // Adds the files of one folder, and the folders in it.
  absl::Status ListOne(const std::string& folder, std::set<std::string>& files,
                       std::vector<std::string>& folders) const;

  std::string path_;
  Links links_;
  OwnedFd folder_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_FOLDER_READER_H_
