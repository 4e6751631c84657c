// Implements ReplacedFile: writes, waits for the disk, renames or copies.
#include "base/replaced_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/write_all.h"

namespace ferry {
namespace {

constexpr size_t kPiece = size_t{1} << 16;
constexpr mode_t kUsualMode = 0666;  // less the umask

// Returns where the links of `path` lead to.
std::string Resolved(const std::string& path, bool is_there) {
  std::error_code error;
  if (is_there) {
    const auto target = std::filesystem::canonical(path, error);
    return error ? path : target.string();  // no name, as of a pipe
  }
  std::filesystem::path target = path;
  while (std::filesystem::is_symlink(target, error)) {
    target =
        target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  return target;
}

std::string Beside(const std::string& target) {
  const std::filesystem::path path(target);
  return path.parent_path() /
         absl::StrCat(".", path.filename().string(), ".", getpid());
}

// Makes a new file, also where one was left by an earlier process of that id.
int Make(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  const int file = open(path.c_str(), kFlags, kUsualMode);
  if (file >= 0 || errno != EEXIST || unlink(path.c_str()) != 0) {
    return file;
  }
  return open(path.c_str(), kFlags, kUsualMode);
}

// Gives it the owner, group and mode of another; false where it may not.
bool MakeAlike(int file, const struct stat& other) {
  return fchown(file, other.st_uid, other.st_gid) == 0 &&
         fchmod(file, other.st_mode & ~mode_t{S_IFMT}) == 0;
}

// Returns 0, or errno.
int CopyAll(int from, int to) {
  std::vector<char> piece(kPiece);
  for (off_t done = 0;;) {
    const ssize_t count = pread(from, piece.data(), piece.size(), done);
    if (count <= 0) {
      return count == 0 ? 0 : errno;
    }
    const int error = WriteAll(to, {piece.data(), static_cast<size_t>(count)});
    if (error != 0) {
      return error;
    }
    done += count;
  }
}

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReplacedFile>> ReplacedFile::Create(
    const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  struct stat there = {};
  const bool is_there = stat(path.c_str(), &there) == 0;
  if (!is_there && errno != ENOENT) {
    return CannotWrite(path, errno);
  }
  const std::string target = Resolved(path, is_there);
  std::string beside;
  int file = -1;
  bool takes_no_file = is_there && !S_ISREG(there.st_mode);
  if (!takes_no_file) {
    beside = Beside(target);
    file = Make(beside);
    takes_no_file = file < 0 && is_there && (errno == EACCES || errno == EROFS);
  }
  if (takes_no_file) {
    beside.clear();
    file = open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  }
  if (file < 0) {
    return CannotWrite(path, errno);
  }
  std::unique_ptr<ReplacedFile> made(
      new ReplacedFile(path, target, std::move(beside), file));
  made->must_copy_ = is_there && !takes_no_file &&
                     (there.st_nlink > 1 || !MakeAlike(file, there));
  return made;
}

ReplacedFile::ReplacedFile(std::string path, std::string target,
                           std::string beside, int file)
    : path_(std::move(path)),
      target_(std::move(target)),
      beside_(std::move(beside)),
      file_(file) {}

ReplacedFile::~ReplacedFile() {
  if (file_ < 0) {
    return;
  }
  close(file_);
  if (!beside_.empty()) {
    unlink(beside_.c_str());
  }
}

void ReplacedFile::Write(absl::string_view text) {
  unwritten_.append(text.data(), text.size());
  if (unwritten_.size() >= kPiece) {
    Flush();
  }
}

void ReplacedFile::Flush() {
  if (error_ == 0) {
    error_ = WriteAll(file_, unwritten_);
  }
  unwritten_.clear();
}

int ReplacedFile::PutInPlace(bool& is_torn) {
  const auto rename = [this] {
    return std::rename(beside_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  };
  int error = 0;
  if (!must_copy_ && (error = rename()) == 0) {
    return 0;
  }
  const int target = open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (target < 0) {  // with a copy wanted: another's file in one's own folder
    return must_copy_ ? rename() : error;
  }
  error = CopyAll(file_, target);
  if (close(target) != 0 && error == 0) {
    error = errno;
  }
  is_torn = error != 0;
  return error;
}

absl::Status ReplacedFile::Close() {
  Flush();
  const bool is_beside = !beside_.empty();
  if (error_ == 0 && is_beside && fsync(file_) != 0) {
    error_ = errno;
  }
  bool is_torn = false;
  if (error_ == 0 && is_beside) {
    error_ = PutInPlace(is_torn);
  }
  if (close(std::exchange(file_, -1)) != 0 && error_ == 0 && !is_beside) {
    error_ = errno;
  }
  if (is_beside && !is_torn) {
    unlink(beside_.c_str());  // unless it was renamed
  }
  if (error_ == 0) {
    return absl::OkStatus();
  }
  const absl::Status status = CannotWrite(path_, error_);
  return !is_beside ? status
                    : absl::UnavailableError(absl::StrCat(
                          status.message(),
                          is_torn ? absl::StrCat("; all of it is in ", beside_)
                                  : "; what was there before is unchanged"));
}

absl::Status ReplaceFile(const std::string& path, absl::string_view contents) {
  auto file = ReplacedFile::Create(path);
  if (!file.ok()) {
    return file.status();
  }
  (*file)->Write(contents);
  return (*file)->Close();
}

}  // namespace ferry
