// Implements PageClient with a connection for each page.
#include "deploy/ctl/page_client.h"

#include <arpa/inet.h>
#include <httplib.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"

namespace ferry::ctl {
namespace {

constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kLastPort = 65535;
constexpr size_t kMaxQuotedBytes = 200;

struct HostAndPort {
  std::string host;
  int port = 0;
};

absl::StatusOr<HostAndPort> Split(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostAndPort split;
  if (colon == 0 || colon == std::string::npos ||
      absl::StartsWith(address, "unix:") ||
      !absl::SimpleAtoi(address.substr(colon + 1), &split.port) ||
      split.port < 1 || split.port > kLastPort) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--address: expected host:port of the server's metrics port, got '",
        address, "'"));
  }
  split.host = address.substr(0, colon);
  return split;
}

// cpp-httplib takes another name than the address's for an IP address alone.
absl::StatusOr<std::string> IpOf(const std::string& host) {
  absl::string_view ip = host;
  if (absl::ConsumePrefix(&ip, "[")) {
    absl::ConsumeSuffix(&ip, "]");
  }
  const std::string text(ip);
  in6_addr bytes;
  if (inet_pton(AF_INET, text.c_str(), &bytes) != 1 &&
      inet_pton(AF_INET6, text.c_str(), &bytes) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--address: expected an IP address beside --authority, got '", host,
        "'"));
  }
  return text;
}

}  // namespace

absl::StatusOr<PageClient> PageClient::Create(const ServerFlags& flags) {
  auto connection = ReadConnection(flags);
  if (!connection.ok()) {
    return connection.status();
  }
  return PageClient(flags, *std::move(connection));
}

absl::StatusOr<Page> PageClient::Get(const std::string& address,
                                     const std::string& path) const {
  const auto server = Split(address);
  if (!server.ok()) {
    return server.status();
  }
  const std::string& authority = connection_.authority;
  httplib::Client http(absl::StrCat(
      connection_.tls ? "https://" : "http://",
      authority.empty() ? server->host : authority, ":", server->port));
  if (!authority.empty()) {
    const auto ip = IpOf(server->host);
    if (!ip.ok()) {
      return ip.status();
    }
    http.set_hostname_addr_map({{authority, *ip}});
  }
  if (connection_.tls) {
    http.set_ca_cert_path(flags_.connection.tls_ca);
    http.enable_server_certificate_verification(true);
  }
  http.set_connection_timeout(flags_.timeout());
  http.set_read_timeout(flags_.timeout());
  const httplib::Headers headers(connection_.headers.begin(),
                                 connection_.headers.end());
  httplib::Result reply = http.Get(path, headers);
  if (!reply) {
    return absl::UnavailableError(absl::StrCat(
        address, ": expected an answer of the server's metrics port within ",
        flags_.timeout_s, " s, got none (", httplib::to_string(reply.error()),
        ")", connection_.tls ? "" : "; one with TLS needs --tls-ca"));
  }
  if (reply->status == kUnauthorized || reply->status == kForbidden) {
    const std::string said = absl::StrCat(
        address, path, ": ",
        PrintableText(absl::StripSuffix(reply->body, "\n"), kMaxQuotedBytes));
    return reply->status == kForbidden
               ? absl::PermissionDeniedError(said)
               : absl::UnauthenticatedError(
                     absl::StrCat(said, "; --token-file gives a token"));
  }
  return Page{reply->status, std::move(reply->body)};
}

}  // namespace ferry::ctl
