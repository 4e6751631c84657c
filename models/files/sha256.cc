// Implements Sha256OfFile: reads the file in pieces.
#include "models/files/sha256.h"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/owned_fd.h"
#include "base/write_all.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr size_t kPiece = 1 << 20;

}  // namespace

absl::StatusOr<std::string> Sha256OfFile(int descriptor,
                                         const std::string& path, int copy) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool is_good = digest != nullptr &&
                 EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  struct stat about = {};
  is_good = is_good && fstat(descriptor, &about) == 0;
  auto left = static_cast<size_t>(about.st_size);  // it may grow without end
  std::vector<char> piece(kPiece);
  ssize_t got = 0;
  do {
    got = read(descriptor, piece.data(), std::min(left, piece.size()));
    const auto size = static_cast<size_t>(got < 0 ? 0 : got);
    is_good = is_good && got >= 0 &&
              EVP_DigestUpdate(digest.get(), piece.data(), size) == 1;
    if (is_good && copy >= 0 && WriteAll(copy, {piece.data(), size}) != 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot copy '", path, "' to load the bytes that were checked: ",
          std::strerror(errno), "; TMPDIR names another folder"));
    }
    left -= size;
  } while (is_good && got > 0);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  is_good =
      is_good && EVP_DigestFinal_ex(digest.get(), bytes.data(), &size) == 1;
  if (!is_good) {
    return absl::InternalError(
        absl::StrCat("cannot compute the SHA-256 of '", path, "'"));
  }
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  const absl::StatusOr<int> descriptor = OpenRegularFile(path);
  if (!descriptor.ok()) {
    return descriptor.status();
  }
  const OwnedFd owned(*descriptor);
  return Sha256OfFile(owned.get(), path, /*copy=*/-1);
}

}  // namespace ferry
