// TrustOptions says which clients a server lets in, as its flags have it.
//
// Thread safety: plain values.
#ifndef FERRY_SERVER_AUTH_TRUST_OPTIONS_H_
#define FERRY_SERVER_AUTH_TRUST_OPTIONS_H_

#include <cstdint>
#include <string>

namespace ferry {

struct TlsPaths {
  std::string certificate;  // PEM: the server's, then those that signed it
  std::string key;          // PEM, without a password
  std::string client_ca;    // PEM; empty: clients need no certificate
};

// Whether what asks for no more than health needs no token.
enum class HealthAccess : uint8_t { kWithToken, kOpen };

// Whether clients of other machines may come without TLS, or unknown.
enum class Exposure : uint8_t { kGuarded, kInsecure };

struct TrustOptions {
  TlsPaths tls;            // no paths: no TLS
  std::string token_file;  // empty: each client may call each method
  HealthAccess health = HealthAccess::kWithToken;
  Exposure exposure = Exposure::kGuarded;

  bool has_tls() const { return !tls.certificate.empty(); }
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_TRUST_OPTIONS_H_
