// SigningKey signs as those that publish models do, with a key of its own.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_MODELS_SIGNING_KEY_H_
#define FERRY_TESTS_MODELS_SIGNING_KEY_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <string>

namespace ferry {

class SigningKey {
 public:
  // `type`: of OpenSSL, as "ED25519".
  explicit SigningKey(const char* type = "ED25519")
      : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, type), EVP_PKEY_free) {}

  // The public half in PEM.
  std::string PublicPem() const {
    const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PUBKEY(bio.get(), key_.get());
    return TextOf(bio.get());
  }

  std::string PrivatePem() const {
    const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0,
                             nullptr, nullptr);
    return TextOf(bio.get());
  }

  // Returns the raw signature.
  std::string Sign(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
        EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
    std::string signature(64, '\0');
    size_t size = signature.size();
    EVP_DigestSign(context.get(),
                   reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()),
                   text.size());
    return signature;
  }

 private:
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

  static std::string TextOf(BIO* bio) {
    std::string text(BIO_pending(bio), '\0');
    BIO_read(bio, text.data(), static_cast<int>(text.size()));
    return text;
  }

  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_SIGNING_KEY_H_
