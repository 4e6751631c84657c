// Implements TestKey and TestCertificate by OpenSSL.
#include "tests/support/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/check.h"

namespace ferry {
namespace {

// Returns what `write` writes.
template <typename Write>
std::string Pem(const Write& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()),
                                                      &BIO_free);
  Check(write(out.get()) == 1, "OpenSSL writes PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

TestKey::TestKey(const char* curve) : key_(EVP_EC_gen(curve), &EVP_PKEY_free) {
  Check(key_ != nullptr, "OpenSSL makes a key");
}

std::string TestKey::pem() const {
  return Pem([this](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0,
                                    nullptr, nullptr);
  });
}

std::string TestCertificate(const TestKey& key, const std::string& name,
                            absl::Time from, absl::Time to) {
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(),
                                                         &X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  ASN1_TIME_set(X509_getm_notBefore(made.get()), absl::ToTimeT(from));
  ASN1_TIME_set(X509_getm_notAfter(made.get()), absl::ToTimeT(to));
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(
      subject, "CN", MBSTRING_UTF8,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), subject);
  Check(X509_sign(made.get(), key.get(), EVP_sha256()) > 0,
        "OpenSSL signs a certificate");
  return Pem([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
}

}  // namespace ferry
