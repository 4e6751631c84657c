// Implements the flags that reach a server, and what is said of failed calls.
#include "deploy/ctl/server_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bench/report/report_json.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr char kTokenAdvice[] = "; --token-file gives a token";

void AddCommonFlags(CLI::App& command, ServerFlags& flags) {
  command
      .add_option("--tls-ca", flags.connection.tls_ca,
                  "encrypted, by these root certificates, in PEM")
      ->type_name("FILE");
  command
      .add_option(
          "--authority", flags.connection.authority,
          "name of the server, which its certificate is to be of, where "
          "the address is another's")
      ->type_name("HOST");
  command
      .add_option("--token-file", flags.token_file,
                  "token of a client of this server's --auth-token-file")
      ->type_name("FILE");
  command.add_option("--timeout-secs", flags.timeout_s, "how long to wait")
      ->check(NumberFrom(0.001, 1e6))
      ->capture_default_str();
}

// Returns the header of the file's token.
absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const auto text = bench::ReadFile(path);
  if (!text.ok()) {
    return absl::NotFoundError(
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
  return absl::StrCat("authorization:Bearer ", token);
}

}  // namespace

Duration ServerFlags::timeout() const { return Milliseconds(timeout_s * 1000); }

void AddPageFlags(CLI::App& command, ServerFlags& flags) {
  flags.addresses = {"127.0.0.1:8002"};
  command
      .add_option("-u,--address", flags.addresses,
                  "metrics port of a server, host:port; several times: of "
                  "several")
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

absl::StatusOr<bench::ConnectionOptions> ReadConnection(
    const ServerFlags& flags) {
  bench::ConnectionFlags connection = flags.connection;
  connection.tls = !connection.tls_ca.empty();
  if (!flags.token_file.empty()) {
    auto token = ReadToken(flags.token_file);
    if (!token.ok()) {
      return token.status();
    }
    connection.headers.push_back(*std::move(token));
  }
  return bench::ReadConnection(connection);
}

absl::Status OfCall(const absl::Status& status, const ServerFlags& flags) {
  const std::string& address = flags.addresses.front();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return absl::UnavailableError(absl::StrCat(
        address, ": expected an answer of the server's gRPC port within ",
        flags.timeout_s, " s, got '", status.message(), "'",
        flags.connection.tls_ca.empty() ? "; one with TLS needs --tls-ca"
                                        : ""));
  }
  const absl::StatusCode code = absl::IsUnimplemented(status)
                                    ? absl::StatusCode::kFailedPrecondition
                                    : status.code();
  return absl::Status(
      code, absl::StrCat(address, ": ", status.message(),
                         absl::IsUnauthenticated(status) ? kTokenAdvice : ""));
}

}  // namespace ferry::ctl
