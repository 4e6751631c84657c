// Implements HttpSource with cpp-httplib's client.
#include "deploy/ctl/http_source.h"

#include <arpa/inet.h>
#include <httplib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "bench/client/connection.h"
#include "bench/report/report_json.h"

namespace ferry::ctl {
namespace {

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";
constexpr int kLastPort = 65535;
constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr size_t kMaxShown = 200;  // bytes of another's text in a message

// Splits "host", "host:9090" or "[::1]:9090"; returns whether it is one.
bool Split(absl::string_view server, HttpSource& source) {
  const size_t colon = server.find(
      ':', absl::StartsWith(server, "[") ? server.find(']') : size_t{0});
  source.host = std::string(server.substr(0, colon));
  if (colon == absl::string_view::npos) {
    return !source.host.empty();
  }
  int port = 0;
  const bool is_port = absl::SimpleAtoi(server.substr(colon + 1), &port);
  source.port = absl::StrCat(":", port);
  return !source.host.empty() && is_port && port >= 1 && port <= kLastPort;
}

// Returns the host as inet_pton() takes it, if it is an IP address.
std::string WithoutBrackets(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) {
    absl::ConsumeSuffix(&host, "]");
  }
  return std::string(host);
}

bool IsIp(const std::string& text) {
  in6_addr bytes;
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
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
  const std::string& name =
      source.authority.empty() ? source.host : source.authority;
  httplib::Client http(source.scheme + name + source.port);
  if (!source.authority.empty()) {
    http.set_hostname_addr_map({{name, WithoutBrackets(source.host)}});
  }
  http.set_connection_timeout(timeout);
  http.set_read_timeout(timeout);
  http.set_write_timeout(timeout);
  if (!source.ca_path.empty()) {
    http.set_ca_cert_path(source.ca_path.c_str());
  }
  if (!source.token.empty()) {
    http.set_bearer_token_auth(source.token);
  }
  httplib::Result reply =
      http.Get(source.path + page, parameters, httplib::Headers());
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
