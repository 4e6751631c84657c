// Implements FolderReader with openat(), a part of the path at a time.
#include "models/files/folder_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kFile = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

absl::Status CannotRead(const std::string& shown, int error) {
  const std::string text =
      absl::StrCat("cannot read '", shown, "': ", std::strerror(error));
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(text)
                                             : absl::UnavailableError(text);
}

absl::Status Refused(const std::string& shown) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", shown,
      "': expected a file or folder, got a link, and none is followed where a "
      "manifest is required: put what it leads to in its place"));
}

// Opens a name in a folder; a link, refused, is not followed.
absl::StatusOr<OwnedFd> OpenName(int folder, const std::string& name, int flags,
                                 FolderReader::Links links,
                                 const std::string& shown) {
  const bool follows = links == FolderReader::Links::kFollowed;
  struct stat about = {};
  if (fstatat(folder, name.c_str(), &about,
              follows ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
    return CannotRead(shown, errno);
  }
  if (S_ISLNK(about.st_mode)) {
    return Refused(shown);
  }
  if ((flags & O_DIRECTORY) == 0 && !S_ISREG(about.st_mode)) {
    return NoFile(shown, about.st_mode);  // opening a device may act on it
  }
  OwnedFd opened(
      openat(folder, name.c_str(), flags | (follows ? 0 : O_NOFOLLOW)));
  if (opened.get() < 0) {
    return errno == ELOOP && !follows ? Refused(shown)
                                      : CannotRead(shown, errno);
  }
  return opened;
}

}  // namespace

absl::StatusOr<FolderReader> FolderReader::Open(const std::string& path,
                                                Links links) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.parent_path().string();
  const OwnedFd above(open(parent.empty() ? "." : parent.c_str(), kFolder));
  if (above.get() < 0) {
    return CannotRead(parent, errno);
  }
  absl::StatusOr<OwnedFd> folder =
      OpenName(above.get(), whole.filename().string(), kFolder, links, path);
  if (!folder.ok()) {
    return folder.status();
  }
  return FolderReader(path, links, *std::move(folder));
}

std::string FolderReader::Shown(const std::string& path) const {
  return path.empty() ? path_ : absl::StrCat(path_, "/", path);
}

absl::StatusOr<OwnedFd> FolderReader::OpenBelow(const std::string& path,
                                                bool is_folder) const {
  const std::vector<std::string> names = absl::StrSplit(path, '/');
  OwnedFd folder;
  std::string so_far;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&so_far, i == 0 ? "" : "/", names[i]);
    const bool is_last = i + 1 == names.size();
    absl::StatusOr<OwnedFd> next = OpenName(
        i == 0 ? folder_.get() : folder.get(), names[i],
        is_last && !is_folder ? kFile : kFolder, links_, Shown(so_far));
    if (!next.ok()) {
      return next.status();
    }
    folder = *std::move(next);
  }
  return folder;
}

absl::StatusOr<OwnedFd> FolderReader::OpenFile(const std::string& path) const {
  absl::StatusOr<OwnedFd> file = OpenBelow(path, /*is_folder=*/false);
  if (!file.ok()) {
    return file.status();
  }
  if (absl::Status status = CheckRegularFile(file->get(), Shown(path));
      !status.ok()) {
    return status;  // another one meanwhile
  }
  return file;
}

absl::StatusOr<std::string> FolderReader::ReadFile(const std::string& path,
                                                   size_t max_bytes) const {
  const absl::StatusOr<OwnedFd> file = OpenFile(path);
  if (!file.ok()) {
    return file.status();
  }
  return ferry::ReadFile(file->get(), Shown(path), max_bytes);
}

absl::Status FolderReader::ListOne(const std::string& folder,
                                   std::set<std::string>& files,
                                   std::vector<std::string>& folders) const {
  absl::StatusOr<OwnedFd> opened =
      OpenBelow(folder.empty() ? "." : folder, /*is_folder=*/true);
  if (!opened.ok()) {
    return absl::IsNotFound(opened.status()) ? absl::OkStatus()
                                             : opened.status();
  }
  const int at = opened->get();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(at), closedir);
  if (entries == nullptr) {
    return CannotRead(Shown(folder), errno);
  }
  opened->Release();  // it is closed with `entries`
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(entries.get());
    if (entry == nullptr) {
      return errno == 0 ? absl::OkStatus() : CannotRead(Shown(folder), errno);
    }
    const std::string name = entry->d_name;
    if (name == "." || name == "..") {
      continue;
    }
    const std::string path =
        folder.empty() ? name : absl::StrCat(folder, "/", name);
    struct stat about = {};
    const auto is_folder = [&](int flags) {
      return fstatat(at, name.c_str(), &about, flags) == 0 &&
             S_ISDIR(about.st_mode);
    };
    if (is_folder(AT_SYMLINK_NOFOLLOW)) {
      folders.push_back(path);
    } else if (links_ == Links::kRefused || !is_folder(0)) {
      files.insert(path);
    }
  }
}

absl::StatusOr<std::set<std::string>> FolderReader::ListFiles(
    const std::string& folder, Depth depth) const {
  std::set<std::string> files;
  std::vector<std::string> folders = {folder};
  do {
    const std::string next = folders.back();
    folders.pop_back();
    if (absl::Status status = ListOne(next, files, folders); !status.ok()) {
      return status;
    }
  } while (depth == Depth::kAllBelow && !folders.empty());
  return files;
}

}  // namespace ferry
