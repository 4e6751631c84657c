// Implements Sha256OfFile: reads the file in pieces.
#include "models/files/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "models/files/read_file.h"

namespace ferry {

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  constexpr size_t kPiece = 1 << 20;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool is_good = digest != nullptr &&
                 EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  const absl::StatusOr<int> descriptor = OpenRegularFile(path);
  if (!descriptor.ok()) {
    return descriptor.status();
  }
  std::vector<char> piece(kPiece);
  ssize_t got = 0;
  do {
    got = read(*descriptor, piece.data(), piece.size());
    is_good = is_good && got >= 0 &&
              EVP_DigestUpdate(digest.get(), piece.data(),
                               static_cast<size_t>(got)) == 1;
  } while (is_good && got > 0);
  close(*descriptor);
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

}  // namespace ferry
