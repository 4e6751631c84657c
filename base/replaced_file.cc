// Implements ReplacedFile: writes, waits for the disk, renames.
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

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr size_t kPiece = size_t{1} << 16;
constexpr mode_t kUsualMode = 0666;  // less the umask

// Returns where links of `path` lead to; `path` where it leads nowhere yet.
std::string Resolved(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

std::string Beside(const std::string& target) {
  const std::filesystem::path path(target);
  return path.parent_path() /
         absl::StrCat(".", path.filename().string(), ".", getpid());
}

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReplacedFile>> ReplacedFile::Create(
    const std::string& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string target = Resolved(path);
  struct stat there = {};
  const bool is_there = stat(target.c_str(), &there) == 0;
  std::string beside;
  int file = -1;
  bool takes_no_file = is_there && !S_ISREG(there.st_mode);
  if (!takes_no_file) {
    beside = Beside(target);
    file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                kUsualMode);
    takes_no_file = file < 0 && is_there && (errno == EACCES || errno == EROFS);
  }
  if (takes_no_file) {
    beside.clear();
    file = open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  } else if (file >= 0 && is_there && fchmod(file, there.st_mode) != 0) {
    // It keeps the usual mode.
  }
  if (file < 0) {
    return CannotWrite(path, errno);
  }
  return std::unique_ptr<ReplacedFile>(
      new ReplacedFile(path, target, std::move(beside), file));
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
  size_t done = 0;
  while (error_ == 0 && done < unwritten_.size()) {
    const ssize_t count =
        write(file_, unwritten_.data() + done, unwritten_.size() - done);
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  unwritten_.clear();
}

absl::Status ReplacedFile::Close() {
  Flush();
  const bool is_beside = !beside_.empty();
  if (error_ == 0 && is_beside && fsync(file_) != 0) {
    error_ = errno;
  }
  if (close(file_) != 0 && error_ == 0) {
    error_ = errno;
  }
  file_ = -1;
  if (error_ == 0 && is_beside &&
      std::rename(beside_.c_str(), target_.c_str()) != 0) {
    error_ = errno;
  }
  if (error_ == 0) {
    return absl::OkStatus();
  }
  if (!is_beside) {
    return CannotWrite(path_, error_);
  }
  unlink(beside_.c_str());
  return absl::UnavailableError(
      absl::StrCat(CannotWrite(path_, error_).message(),
                   "; what was there before is unchanged"));
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
