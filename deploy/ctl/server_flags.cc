// Implements the flags that reach a server, and what is said of failed calls.
#include "deploy/ctl/server_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr char kTokenAdvice[] = "; --token-file gives a token";

void AddCommonFlags(CLI::App& command, ServerFlags& flags) {
  AddHttpFlags(command, flags.http);
  command
      .add_option(
          "--authority", flags.connection.authority,
          "name of the server, which its certificate is to be of, where "
          "the address is another's")
      ->type_name("HOST");
  command.add_option("--timeout-secs", flags.timeout_s, "how long to wait")
      ->check(NumberFrom(0.001, 1e6))
      ->capture_default_str();
}

}  // namespace

Duration ServerFlags::timeout() const { return Milliseconds(timeout_s * 1000); }

void AddPageFlags(CLI::App& command, ServerFlags& flags) {
  flags.addresses = {"127.0.0.1:8002"};
  command
      .add_option("-u,--address", flags.addresses,
                  "metrics port of a server: host:port, or a URL of http or "
                  "https; several times: of several")
      ->type_name("ADDRESS")
      ->allow_extra_args(false)
      ->default_str(flags.addresses.front());
  AddCommonFlags(command, flags);
}

void AddCallFlags(CLI::App& command, ServerFlags& flags) {
  flags.addresses = {"127.0.0.1:8001"};
  command
      .add_option("-u,--address", flags.addresses.front(),
                  "gRPC port of the server, or its --admin-address: host:port "
                  "or unix:FILE")
      ->type_name("ADDRESS")
      ->capture_default_str();
  AddCommonFlags(command, flags);
  CLI::Option* const certificate =
      command
          .add_option("--tls-cert", flags.connection.tls_cert,
                      "own certificate, in PEM, where the server asks for one")
          ->type_name("FILE");
  CLI::Option* const key =
      command.add_option("--tls-key", flags.connection.tls_key, "its key")
          ->type_name("FILE")
          ->needs(certificate);
  certificate->needs(key)->needs(command.get_option("--tls-ca"));
}

absl::StatusOr<std::vector<HttpSource>> ReadSources(const ServerFlags& flags) {
  std::vector<HttpSource> sources;
  for (const std::string& address : flags.addresses) {
    auto source = MakeHttpSource("--address", address, flags.http,
                                 flags.connection.authority);
    if (!source.ok()) {
      return source.status();
    }
    sources.push_back(*std::move(source));
  }
  return sources;
}

absl::StatusOr<bench::ConnectionOptions> ReadConnection(
    const ServerFlags& flags) {
  bench::ConnectionFlags connection = flags.connection;
  connection.tls_ca = flags.http.ca;
  connection.tls = !flags.http.ca.empty();
  if (!flags.http.token.empty()) {
    const auto token = ReadToken(flags.http.token);
    if (!token.ok()) {
      return token.status();
    }
    connection.headers.push_back(absl::StrCat("authorization:Bearer ", *token));
    const std::string& address = flags.addresses.front();
    if (!connection.tls && !absl::StartsWith(address, "unix:")) {
      WarnOfClearToken(address.substr(0, address.rfind(':')), "--tls-ca");
    }
  }
  return bench::ReadConnection(connection);
}

absl::Status OfCall(const absl::Status& status, const ServerFlags& flags) {
  const std::string& address = flags.addresses.front();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return absl::UnavailableError(absl::StrCat(
        address, ": expected an answer of the server's gRPC port within ",
        flags.timeout_s, " s, got '", status.message(), "'",
        flags.http.ca.empty() ? "; one with TLS needs --tls-ca" : ""));
  }
  const absl::StatusCode code = absl::IsUnimplemented(status)
                                    ? absl::StatusCode::kFailedPrecondition
                                    : status.code();
  return absl::Status(
      code, absl::StrCat(address, ": ", status.message(),
                         absl::IsUnauthenticated(status) ? kTokenAdvice : ""));
}

}  // namespace ferry::ctl
