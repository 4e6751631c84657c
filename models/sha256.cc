// Reading in pieces.
#include "models/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace ferry {

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  constexpr size_t kPiece = 1 << 20;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool is_good = digest != nullptr &&
                 EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat("cannot read '", path, "': ", std::strerror(errno)));
  }
  std::vector<char> piece(kPiece);
  while (is_good && file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    is_good = EVP_DigestUpdate(digest.get(), piece.data(),
                               static_cast<size_t>(file.gcount())) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  is_good =
      is_good && EVP_DigestFinal_ex(digest.get(), bytes.data(), &size) == 1;
  if (!is_good || file.bad()) {
    return absl::InternalError(
        absl::StrCat("cannot compute the SHA-256 of '", path, "'"));
  }
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

}  // namespace ferry
