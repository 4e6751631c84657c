// ConnectionOptions says how commands reach a server: in the clear or by TLS,
// under which name, with which headers and which certificate.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_CLIENT_CONNECTION_H_
#define FERRY_BENCH_CLIENT_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace ferry::bench {

// These are the flags as typed.
struct ConnectionFlags {
  std::vector<std::string> headers = {};  // NAME:VALUE
  std::string authority = {};
  bool tls = false;
  std::string tls_ca = {};  // file of certificates, PEM; empty: the system's
  // Files of the client's own certificate and its key, PEM; both or none.
  std::string tls_cert = {};
  std::string tls_key = {};
};

struct ConnectionOptions {
  // Each call has them; names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  // Empty: host and port of the address. With TLS the server's certificate is
  // to be of that host.
  std::string authority;
  bool tls = false;
  std::string root_certificates;  // PEM; empty: the system's
  std::string certificate;        // the client's own, PEM; empty: none
  std::string key;                // its key
};

// Reads the files of certificates. INVALID_ARGUMENT for a header that HTTP/2 or
// gRPC forbids, for a file without a certificate or key, and for a key of
// another certificate; NOT_FOUND where there is no such file.
absl::StatusOr<ConnectionOptions> ReadConnection(const ConnectionFlags& flags);

// Returns a channel of its own connection, without retries or proxies: each
// call is sent once, and measured as it was.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ConnectionOptions& connection);

// The deadline `limit` from now, on the monotonic clock.
gpr_timespec DeadlineIn(Duration limit);

// Puts the headers on a call that has not begun.
void AddHeaders(const ConnectionOptions& connection,
                grpc::ClientContext& context);

// Returns "authorization:..." of "authorization:Bearer 1234", as results have
// it: values may be secret.
std::string WithoutValue(absl::string_view header);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_CONNECTION_H_
