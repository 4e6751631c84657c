// Implements UnpackFolder with mkdtemp() and flock().
#include "models/torch/aoti/unpack_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "ferry-unpacked-";
constexpr int kMaxTries = 10;

// Returns the descriptor of this user's folder once it is locked, or below 0
// where it is no such folder, or in use: errno, negative.
int Lock(const std::string& path) {
  const int folder =
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) {
    return -errno;
  }
  struct stat about = {};
  int error = 0;
  if (fstat(folder, &about) != 0 || about.st_uid != geteuid()) {
    error = EPERM;
  } else if (flock(folder, LOCK_EX | LOCK_NB) != 0) {
    error = errno;
  }
  if (error == 0) {
    return folder;
  }
  close(folder);
  return -error;
}

void Remove(const std::string& path, int lock) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  if (lock >= 0) {
    close(lock);
  }
}

// Removes the folders whose owners are gone.
void Sweep(const fs::path& temporary) {
  std::error_code error;
  for (fs::directory_iterator entry(temporary, error), end;
       !error && entry != end; entry.increment(error)) {
    if (absl::StartsWith(entry->path().filename().string(), kPrefix)) {
      if (const int lock = Lock(entry->path()); lock >= 0) {
        Remove(entry->path(), lock);
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnpackFolder>> UnpackFolder::Create() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) {
    Sweep(temporary);
  }
  struct statvfs about = {};
  if (statvfs(temporary.c_str(), &about) == 0 &&
      (about.f_flag & ST_NOEXEC) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot run code that is unpacked to '", temporary.string(),
        "': its file system is mounted noexec; set TMPDIR to a folder of one "
        "that is not"));
  }
  std::string path = (temporary / absl::StrCat(kPrefix, "XXXXXX")).string();
  int why = error.value();
  for (int tries = 0; !error && tries < kMaxTries; ++tries) {
    path.replace(path.size() - 6, 6, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      why = errno;
      break;
    }
    // Another process that sweeps may have it before this one has its lock.
    const int lock = Lock(path);
    if (lock >= 0 && access(path.c_str(), F_OK) == 0) {
      return std::unique_ptr<UnpackFolder>(new UnpackFolder(path, lock));
    }
    why = -lock;
    Remove(path, lock);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot make and lock a folder to unpack it, '", path,
      "': ", std::strerror(why),
      "; set TMPDIR to a folder of a file system that has locks, as on a local "
      "disk"));
}

UnpackFolder::~UnpackFolder() { Remove(path_, lock_); }

}  // namespace ferry
