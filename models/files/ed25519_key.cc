// Implements Ed25519Key: OpenSSL reads the key and verifies.
#include "models/files/ed25519_key.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr size_t kMaxPemBytes = size_t{64} << 10;
constexpr size_t kKeyBytes = 32;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key KeyOf(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> reader(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  Key key(PEM_read_bio_PUBKEY(reader.get(), nullptr, nullptr, nullptr),
          EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

// What a file is that holds no public key of that kind.
std::string WhatElse(const std::string& pem, const EVP_PKEY* key) {
  if (key != nullptr) {
    const char* const name = EVP_PKEY_get0_type_name(key);
    return absl::StrCat("a key for ", name == nullptr ? "another use" : name);
  }
  return absl::StrContains(pem, "PRIVATE KEY")
             ? "a private key, which stays where models are signed"
             : "none";
}

}  // namespace

absl::StatusOr<Ed25519Key> Ed25519Key::Read(const std::string& path) {
  const absl::StatusOr<std::string> pem = ReadFile(path, kMaxPemBytes);
  if (!pem.ok()) {
    return pem.status();
  }
  const Key key = KeyOf(*pem);
  std::string bytes(kKeyBytes, '\0');
  size_t size = bytes.size();
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(
          key.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size) !=
          1 ||
      size != kKeyBytes) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path,
        "': expected a public Ed25519 key in PEM, as openssl pkey -in KEY "
        "-pubout writes it, got ",
        WhatElse(*pem, key.get())));
  }
  return Ed25519Key(path, std::move(bytes));
}

bool Ed25519Key::Verifies(absl::string_view text,
                          absl::string_view signature) const {
  if (signature.size() != kSignatureBytes) {
    return false;
  }
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                            Bytes(bytes_), bytes_.size()),
                EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool is_good =
      key != nullptr && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr,
                           key.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return is_good;
}

}  // namespace ferry
