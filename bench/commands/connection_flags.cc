// Implements the flags that reach a server and its model, and strings without
// their secrets.
#include "bench/commands/connection_flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flags/value_checks.h"

namespace ferry::bench {

void AddConnectionFlags(CLI::App& command, ConnectionFlags& flags) {
  command
      .add_option(absl::StrCat("--", kHeaderFlag), flags.headers,
                  "header of each call, as authorization:Bearer ...; its value "
                  "is kept out of results")
      ->type_name("NAME:VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--authority", flags.authority,
                  "name of the server that calls ask for, where the address is "
                  "another's, as of an ingress; with --tls its certificate is "
                  "to be of that name")
      ->type_name("HOST");
  CLI::Option* const tls = command.add_flag(
      "--tls", flags.tls, "encrypted, by the system's root certificates");
  command
      .add_option("--tls-ca", flags.tls_ca,
                  "root certificates instead of the system's, in PEM")
      ->type_name("FILE")
      ->needs(tls);
}

void AddModelFlags(CLI::App& command, ConnectionFlags& connection,
                   std::string& address, std::string& model,
                   double& wait_ready_s) {
  command.option_defaults()->group("Server");
  command.add_option("-u,--address", address, "server, host:port")
      ->capture_default_str();
  AddConnectionFlags(command, connection);
  command.add_option("-m,--model", model, "model to call")
      ->capture_default_str();
  command
      .add_option("--wait-ready-secs", wait_ready_s,
                  "how long to wait for the model")
      ->check(NumberFrom(0.0, 1e6))
      ->capture_default_str();
}

std::string HeadersWithoutValues(const std::vector<std::string>& headers) {
  return absl::StrJoin(headers, ",",
                       [](std::string* out, const std::string& header) {
                         absl::StrAppend(out, WithoutValue(header));
                       });
}

std::string CommandLineOf(const std::vector<std::string>& arguments,
                          const std::string& program) {
  const std::string flag = absl::StrCat("--", kHeaderFlag);
  const std::string flag_with_value = absl::StrCat(flag, "=");
  std::string line = program;
  bool is_header = false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const absl::string_view argument = arguments[i];
    if (is_header) {
      absl::StrAppend(&line, " ", WithoutValue(argument));
    } else if (absl::StartsWith(argument, flag_with_value)) {
      absl::StrAppend(&line, " ", flag_with_value,
                      WithoutValue(argument.substr(flag_with_value.size())));
    } else {
      absl::StrAppend(&line, " ", argument);
    }
    is_header = argument == flag;
  }
  return line;
}

}  // namespace ferry::bench
