// Implements MappedFile: maps a file read-only.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "models/files/read_file.h"
#include "models/files/safetensors.h"

namespace ferry {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const absl::StatusOr<int> opened = OpenRegularFile(path);
  if (!opened.ok()) {
    return opened.status();
  }
  const int descriptor = *opened;
  struct stat about = {};
  fstat(descriptor, &about);
  const size_t size = static_cast<size_t>(about.st_size);
  if (size == 0) {
    close(descriptor);
    return MappedFile();
  }
  void* const start =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (start == MAP_FAILED) {
    return absl::InternalError(absl::StrCat("cannot map '", path, "'"));
  }
  return MappedFile({static_cast<const std::byte*>(start), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace ferry
