// HttpSource is a server that ferryctl reads by HTTP: where it is, and how it
// is trusted; GetPage() asks it for a page.
//
// Thread safety: plain values and free functions over them.
// Errors: INVALID_ARGUMENT for an address or file that is not as expected,
// NOT_FOUND for a file that is not there, UNAVAILABLE where no answer comes,
// PERMISSION_DENIED, with what the server says, where it wants another token.
#ifndef FERRY_DEPLOY_CTL_HTTP_SOURCE_H_
#define FERRY_DEPLOY_CTL_HTTP_SOURCE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::ctl {

// The files of a user that a server's clients need, each "" where it needs
// none.
struct HttpFiles {
  std::string token = {};  // has the bearer token; it is on no command line
  std::string ca = {};     // root certificates in place of the system's, in PEM
};

// Adds --token-file and --tls-ca. `files` outlives the parsing.
void AddHttpFlags(CLI::App& command, HttpFiles& files);

// Returns the token in the file that --token-file names.
absl::StatusOr<std::string> ReadToken(const std::string& path);

// Says on standard error that a token goes to `host` as it is, by a connection
// without TLS, where that is not this machine. `host`: "127.0.0.1", "[::1]".
// `remedy`: what gives it TLS.
void WarnOfClearToken(const std::string& host, const std::string& remedy);

struct HttpSource {
  std::string address;    // as typed
  std::string scheme;     // "http://"
  std::string host;       // "127.0.0.1", "[::1]"
  std::string port;       // ":9090"; "": the scheme's
  std::string path;       // before that of each page: "/prometheus", or ""
  std::string token;      // "": none
  std::string ca_path;    // "": the system's
  std::string authority;  // whose its certificate is; "": the host's

  std::string url() const { return scheme + host + port + path; }
};

// `address`: host:port, which is reached by https where there is a file of
// root certificates, else by http; or a URL of one of them. Either may have a
// path. `flag` is for messages. With an authority the host is an IP address.
absl::StatusOr<HttpSource> MakeHttpSource(const std::string& flag,
                                          const std::string& address,
                                          const HttpFiles& files,
                                          const std::string& authority = "");

struct HttpReply {
  int code = 0;
  std::string body;
};

using HttpParameters = std::multimap<std::string, std::string>;

// Returns the answer of whatever code but 401 and 403. Follows no redirection,
// which could carry the token elsewhere. `timeout`: of the connection, and of
// each wait for data.
absl::StatusOr<HttpReply> GetPage(const HttpSource& source,
                                  const std::string& page,
                                  const HttpParameters& parameters,
                                  Duration timeout);

// Returns a page of the metrics port of a ferry-server. FAILED_PRECONDITION
// where it has none.
absl::StatusOr<std::string> GetServerPage(const HttpSource& source,
                                          const std::string& page,
                                          Duration timeout);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_HTTP_SOURCE_H_
