// Implements HttpSource with cpp-httplib's client.
#include "deploy/ctl/http_source.h"

#include <arpa/inet.h>
#include <httplib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/printable_text.h"
#include "bench/client/connection.h"
#include "bench/report/report_json.h"

namespace ferry::ctl {
namespace {

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";
constexpr int kHttpPort = 80;
constexpr int kHttpsPort = 443;
constexpr int kLastPort = 65535;
constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr size_t kMaxShown = 200;  // bytes of another's text in a message

// Returns the host as inet_pton() takes it, if it is an IP address.
std::string WithoutBrackets(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) {
    absl::ConsumeSuffix(&host, "]");
  }
  return std::string(host);
}

bool IsIpv6(const std::string& text) {
  in6_addr bytes;
  return inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

bool IsIp(const std::string& text) {
  in_addr bytes;
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 || IsIpv6(text);
}

// Splits "host", "host:9090" or "[::1]:9090"; returns whether it is one.
bool Split(absl::string_view server, HttpSource& source) {
  const bool has_bracket = absl::StartsWith(server, "[");
  const size_t end = has_bracket ? server.find(']') : server.find(':');
  const size_t host_size = has_bracket && end != absl::string_view::npos
                               ? end + 1
                               : std::min(end, server.size());
  source.host = std::string(server.substr(0, host_size));
  const bool is_host = has_bracket ? absl::EndsWith(source.host, "]") &&
                                         IsIpv6(WithoutBrackets(source.host))
                                   : !source.host.empty();
  absl::string_view rest = server.substr(host_size);
  if (rest.empty()) {
    return is_host;
  }
  int port = 0;
  const bool is_port =
      absl::ConsumePrefix(&rest, ":") && absl::SimpleAtoi(rest, &port);
  source.port = absl::StrCat(":", port);
  return is_host && is_port && port >= 1 && port <= kLastPort;
}

// Returns a client of the source's server. By its URL cpp-httplib 0.11 would
// take no IPv6 address that has letters.
std::unique_ptr<httplib::ClientImpl> MakeClient(const HttpSource& source) {
  const bool has_tls = source.scheme == kHttps;
  const std::string address = WithoutBrackets(source.host);
  const std::string& name =
      source.authority.empty() ? address : source.authority;
  int port = has_tls ? kHttpsPort : kHttpPort;
  if (!source.port.empty()) {
    Check(absl::SimpleAtoi(absl::StripPrefix(source.port, ":"), &port),
          "a source has a port that was read");
  }
  std::unique_ptr<httplib::ClientImpl> http;
  if (has_tls) {
    http = std::make_unique<httplib::SSLClient>(name, port);
  } else {
    http = std::make_unique<httplib::ClientImpl>(name, port);
  }
  if (!source.authority.empty()) {
    http->set_hostname_addr_map({{name, address}});
  }
  return http;
}

absl::StatusOr<HttpSource> ParseAddress(const std::string& flag,
                                        const std::string& address,
                                        bool has_ca) {
  HttpSource source;
  source.address = address;
  absl::string_view rest = address;
  source.scheme = absl::ConsumePrefix(&rest, kHttps)  ? kHttps
                  : absl::ConsumePrefix(&rest, kHttp) ? kHttp
                                                      : "";
  if (absl::StrContains(rest, "@")) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag,
                     ": expected a URL without a user, got one; the token of "
                     "--token-file is for that"));
  }
  const absl::string_view server = rest.substr(0, rest.find('/'));
  if (!Split(server, source) ||
      (source.scheme.empty() && source.port.empty()) ||
      !std::all_of(rest.begin(), rest.end(), absl::ascii_isgraph) ||
      rest.find_first_of("?#") != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag,
        ": expected host:port, or a URL of http or https without a query, got "
        "'",
        PrintableText(address, kMaxShown), "'"));
  }
  source.path = std::string(absl::StripSuffix(rest.substr(server.size()), "/"));
  if (source.scheme.empty()) {
    source.scheme = has_ca ? kHttps : kHttp;
  }
  return source;
}

}  // namespace

void AddHttpFlags(CLI::App& command, HttpFiles& files) {
  command
      .add_option("--token-file", files.token,
                  "file with the bearer token that the server asks for")
      ->type_name("FILE");
  command
      .add_option("--tls-ca", files.ca,
                  "root certificates instead of the system's, in PEM; with "
                  "them host:port has TLS")
      ->type_name("FILE");
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const auto text = bench::ReadFile(path);
  if (!text.ok()) {
    return absl::Status(
        text.status().code(),
        absl::StrCat("--token-file: ", text.status().message()));
  }
  const absl::string_view token = absl::StripAsciiWhitespace(*text);
  if (token.empty() ||
      !std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--token-file: expected one token of printable ASCII "
                     "characters, found ",
                     token.empty() ? "none" : "others", " in '", path, "'"));
  }
  return std::string(token);
}

void WarnOfClearToken(const std::string& host, const std::string& remedy) {
  const std::string name = WithoutBrackets(host);
  if (name == "localhost" || name == "::1" ||
      (absl::StartsWith(name, "127.") && IsIp(name))) {
    return;
  }
  std::fprintf(
      stderr,
      "ferryctl: --token-file: without TLS the token can be read on its "
      "way to %s: give %s\n",
      host.c_str(), remedy.c_str());
}

absl::StatusOr<HttpSource> MakeHttpSource(const std::string& flag,
                                          const std::string& address,
                                          const HttpFiles& files,
                                          const std::string& authority) {
  auto source = ParseAddress(flag, address, !files.ca.empty());
  if (!source.ok()) {
    return source;
  }
  if (!authority.empty() && !IsIp(WithoutBrackets(source->host))) {
    // cpp-httplib takes another name for an IP address alone.
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected an IP address beside --authority, got '",
                     source->host, "'"));
  }
  source->authority = authority;
  if (!files.token.empty()) {
    auto token = ReadToken(files.token);
    if (!token.ok()) {
      return token.status();
    }
    source->token = *std::move(token);
    if (source->scheme == kHttp) {
      WarnOfClearToken(source->host,
                       absl::StartsWith(address, kHttp)
                           ? kHttps
                           : absl::StrCat(kHttps, " or --tls-ca"));
    }
  }
  // It looks at the certificates, which cpp-httplib reads again.
  const auto connection = bench::ReadConnection({.tls_ca = files.ca});
  if (!connection.ok()) {
    return connection.status();
  }
  source->ca_path = files.ca;
  return source;
}

absl::StatusOr<HttpReply> GetPage(const HttpSource& source,
                                  const std::string& page,
                                  const HttpParameters& parameters,
                                  Duration timeout) {
  const std::unique_ptr<httplib::ClientImpl> http = MakeClient(source);
  http->set_connection_timeout(timeout);
  http->set_read_timeout(timeout);
  http->set_write_timeout(timeout);
  if (!source.ca_path.empty()) {
    http->set_ca_cert_path(source.ca_path.c_str());
  }
  if (!source.token.empty()) {
    http->set_bearer_token_auth(source.token);
  }
  httplib::Result reply =
      http->Get(source.path + page, parameters, httplib::Headers());
  if (!reply) {
    return absl::UnavailableError(absl::StrCat(
        source.url(), page, ": expected an answer within ",
        std::chrono::duration<double>(timeout).count(), " s, got none (",
        httplib::to_string(reply.error()), "); ",
        reply.error() == httplib::Error::SSLServerVerification
            ? "its certificate is to be of that name and signed by what the "
              "system or --tls-ca trusts"
        : source.scheme == kHttps
            ? "is it there, with TLS, and is it reached from here?"
            : "is it there, and is it reached from here? One with TLS needs "
              "https:// or --tls-ca"));
  }
  if (reply->status == kUnauthorized || reply->status == kForbidden) {
    return absl::PermissionDeniedError(absl::StrCat(
        source.url(), page, ": HTTP code ", reply->status, ", '",
        PrintableText(absl::StripAsciiWhitespace(reply->body), kMaxShown),
        "'; --token-file gives a token"));
  }
  return HttpReply{.code = reply->status, .body = std::move(reply->body)};
}

absl::StatusOr<std::string> GetServerPage(const HttpSource& source,
                                          const std::string& page,
                                          Duration timeout) {
  auto reply = GetPage(source, page, {}, timeout);
  if (!reply.ok()) {
    return reply.status();
  }
  if (reply->code != kOk) {
    return absl::FailedPreconditionError(absl::StrCat(
        source.url(), ": expected ", page,
        " of a ferry-server's metrics port, got HTTP code ", reply->code));
  }
  return std::move(reply->body);
}

}  // namespace ferry::ctl
