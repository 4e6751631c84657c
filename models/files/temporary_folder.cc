// Implements TemporaryFolder with mkdtemp() and flock().
#include "models/files/temporary_folder.h"

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

constexpr char kUnpackedPrefix[] = "ferry-unpacked-";
constexpr char kCheckedPrefix[] = "ferry-checked-";
constexpr int kMaxTries = 10;

// Returns the descriptor of this user's folder once it is locked, or none
// where it is no such folder, or in use: then `error` is errno.
OwnedFd Lock(const std::string& path, int& error) {
  OwnedFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about = {};
  error = 0;
  if (folder.get() < 0) {
    error = errno;
  } else if (fstat(folder.get(), &about) != 0 || about.st_uid != geteuid()) {
    error = EPERM;
  } else if (flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    error = errno;
  }
  return error == 0 ? std::move(folder) : OwnedFd();
}

void Remove(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool RunsNoCode(const fs::path& folder) {
  struct statvfs about = {};
  return statvfs(folder.c_str(), &about) == 0 &&
         (about.f_flag & ST_NOEXEC) != 0;
}

}  // namespace

void TemporaryFolder::Sweep() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) {
    return;
  }
  for (fs::directory_iterator entry(temporary, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, kUnpackedPrefix) ||
        absl::StartsWith(name, kCheckedPrefix)) {
      int ignored = 0;
      if (const OwnedFd lock = Lock(entry->path(), ignored); lock.get() >= 0) {
        Remove(entry->path());
      }
    }
  }
}

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Create(
    Use use) {
  Sweep();
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (use == Use::kUnpackedCode && !error && RunsNoCode(temporary)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot run code that is unpacked to '", temporary.string(),
        "': its file system is mounted noexec; set TMPDIR to a folder of one "
        "that is not"));
  }
  const char* const prefix =
      use == Use::kUnpackedCode ? kUnpackedPrefix : kCheckedPrefix;
  std::string path = (temporary / absl::StrCat(prefix, "XXXXXX")).string();
  int why = error.value();
  for (int tries = 0; !error && tries < kMaxTries; ++tries) {
    path.replace(path.size() - 6, 6, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      why = errno;
      break;
    }
    // Another process that sweeps may have it before this one has its lock.
    OwnedFd lock = Lock(path, why);
    if (lock.get() >= 0 && access(path.c_str(), F_OK) == 0) {
      return std::unique_ptr<TemporaryFolder>(
          new TemporaryFolder(path, std::move(lock)));
    }
    Remove(path);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot make and lock a folder for files of a model, '", path,
      "': ", std::strerror(why),
      "; set TMPDIR to a folder of a file system that has locks, as on a local "
      "disk"));
}

TemporaryFolder::~TemporaryFolder() { Remove(path_); }

}  // namespace ferry
