// Implements HttpSource with cpp-httplib's client.
#include "deploy/ctl/http_source.h"

#include <httplib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "bench/report/report_json.h"

namespace ferry::ctl {
namespace {

constexpr char kHttp[] = "http://";
constexpr char kHttps[] = "https://";
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr size_t kMaxShown = 200;  // bytes of an address in a message

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const auto text = bench::ReadFile(path);
  if (!text.ok()) {
    return text.status();
  }
  const absl::string_view token = absl::StripAsciiWhitespace(*text);
  if (token.empty() ||
      !std::all_of(token.begin(), token.end(), absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": expected one token of printable characters without spaces, "
        "got ",
        token.empty() ? "none" : "others"));
  }
  return std::string(token);
}

}  // namespace

void AddHttpFlags(CLI::App& command, HttpFiles& files) {
  command
      .add_option("--token-file", files.token,
                  "file with the bearer token that the server asks for")
      ->type_name("FILE");
  command
      .add_option("--tls-ca", files.ca,
                  "root certificates instead of the system's, in PEM")
      ->type_name("FILE");
}

absl::StatusOr<HttpSource> MakeHttpSource(const std::string& flag,
                                          const std::string& address,
                                          const HttpFiles& files) {
  const std::string url = absl::StrContains(address, "://")
                              ? address
                              : absl::StrCat(kHttp, address);
  absl::string_view rest = url;
  const bool has_tls = absl::ConsumePrefix(&rest, kHttps);
  const bool is_http = has_tls || absl::ConsumePrefix(&rest, kHttp);
  const absl::string_view host = rest.substr(0, rest.find('/'));
  if (absl::StrContains(rest, "@")) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag,
                     ": expected a URL without a user, got one; the token of "
                     "--token-file is for that"));
  }
  if (!is_http || host.empty() ||
      !std::all_of(url.begin(), url.end(), absl::ascii_isgraph) ||
      url.find_first_of("?#") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag,
        ": expected host:port, or a URL of http or https without a "
        "query, got '",
        PrintableText(address, kMaxShown), "'"));
  }
  HttpSource source;
  source.server = absl::StrCat(has_tls ? kHttps : kHttp, host);
  source.path = std::string(absl::StripSuffix(rest.substr(host.size()), "/"));
  if (!files.token.empty()) {
    auto token = ReadToken(files.token);
    if (!token.ok()) {
      return token.status();
    }
    source.token = *std::move(token);
  }
  if (!files.ca.empty()) {
    const auto certificates = bench::ReadFile(files.ca);
    if (!certificates.ok()) {
      return certificates.status();
    }
    source.ca_path = files.ca;
  }
  return source;
}

absl::StatusOr<HttpReply> GetPage(const HttpSource& source,
                                  const std::string& page,
                                  const HttpParameters& parameters,
                                  Duration timeout) {
  httplib::Client http(source.server);
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
        source.url(), page, ": no answer: ", httplib::to_string(reply.error()),
        reply.error() == httplib::Error::SSLServerVerification
            ? "; its certificate is to be of that name and signed by what the "
              "system or --tls-ca trusts"
            : "; is it there, and is it reached from here?"));
  }
  if (reply->status == kUnauthorized || reply->status == kForbidden) {
    return absl::PermissionDeniedError(
        absl::StrCat(source.url(), page,
                     ": expected a token that it takes, by --token-file; "
                     "got HTTP code ",
                     reply->status));
  }
  return HttpReply{.code = reply->status, .body = std::move(reply->body)};
}

}  // namespace ferry::ctl
