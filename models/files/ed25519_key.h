// Ed25519Key is a public key that checks signatures, by OpenSSL.
//
// Thread safety: a plain value.
#ifndef FERRY_MODELS_FILES_ED25519_KEY_H_
#define FERRY_MODELS_FILES_ED25519_KEY_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ferry {

class Ed25519Key {
 public:
  static constexpr size_t kSignatureBytes = 64;

  // Reads a public key in PEM. NOT_FOUND where the file cannot be read,
  // INVALID_ARGUMENT where it holds no such key.
  static absl::StatusOr<Ed25519Key> Read(const std::string& path);

  // Whether the key's private half made the raw signature of just this text.
  bool Verifies(absl::string_view text, absl::string_view signature) const;

  // Where it was read.
  const std::string& path() const { return path_; }

 private:
  Ed25519Key(std::string path, std::string bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  std::string path_;
  std::string bytes_;  // 32, as RFC 8032 has them
};

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_ED25519_KEY_H_
