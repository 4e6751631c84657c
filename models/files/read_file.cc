// Implements ReadFile with open(), fstat() and read().
#include "models/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"

namespace ferry {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  return absl::NotFoundError(
      absl::StrCat("cannot read '", path, "': ", std::strerror(error)));
}

}  // namespace

absl::Status NoFile(const std::string& path, mode_t mode) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "': expected a file, got a ",
                   S_ISDIR(mode) ? "folder" : "pipe, socket or device"));
}

absl::Status CheckRegularFile(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) {
    return CannotRead(path, errno);
  }
  return S_ISREG(about.st_mode) ? absl::OkStatus()
                                : NoFile(path, about.st_mode);
}

absl::Status CheckRegularFile(int descriptor, const std::string& path) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0) {
    return CannotRead(path, errno);
  }
  return S_ISREG(about.st_mode) ? absl::OkStatus()
                                : NoFile(path, about.st_mode);
}

absl::StatusOr<int> OpenRegularFile(const std::string& path) {
  if (absl::Status status = CheckRegularFile(path); !status.ok()) {
    return status;  // opening a device may act on it
  }
  OwnedFd file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    return CannotRead(path, errno);
  }
  if (absl::Status status = CheckRegularFile(file.get(), path); !status.ok()) {
    return status;  // another one meanwhile
  }
  return file.Release();
}

absl::StatusOr<std::string> ReadFile(int descriptor, const std::string& path,
                                     size_t max_bytes) {
  std::string text;
  size_t size = 0;
  ssize_t got = 0;
  do {
    size += static_cast<size_t>(got);
    text.resize(std::min(max_bytes + 1, size + (size_t{64} << 10)));
    got = read(descriptor, text.data() + size, text.size() - size);
  } while (got > 0);
  if (got < 0) {
    return CannotRead(path, errno);
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "': expected at most ", max_bytes, " bytes, got more"));
  }
  text.resize(size);
  return text;
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t max_bytes) {
  const absl::StatusOr<int> descriptor = OpenRegularFile(path);
  if (!descriptor.ok()) {
    return descriptor.status();
  }
  const OwnedFd file(*descriptor);
  return ReadFile(file.get(), path, max_bytes);
}

}  // namespace ferry
