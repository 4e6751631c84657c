// TestKey and TestCertificate make keys and certificates, as PEM, for tests.
#ifndef FERRY_TESTS_SUPPORT_TEST_CERTIFICATES_H_
#define FERRY_TESTS_SUPPORT_TEST_CERTIFICATES_H_

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace ferry {

class TestKey {
 public:
  explicit TestKey(const char* curve = "P-256");

  std::string pem() const;
  EVP_PKEY* get() const { return key_.get(); }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

// Returns the certificate of that key, signed by itself.
std::string TestCertificate(const TestKey& key, const std::string& name,
                            absl::Time from, absl::Time to);

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_TEST_CERTIFICATES_H_
