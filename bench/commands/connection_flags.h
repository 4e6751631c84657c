// AddConnectionFlags() adds the flags by which commands reach a server; two
// more functions give what results say of them.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMMANDS_CONNECTION_FLAGS_H_
#define FERRY_BENCH_COMMANDS_CONNECTION_FLAGS_H_

#include <string>
#include <vector>

#include "bench/client/connection.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

inline constexpr char kHeaderFlag[] = "header";

// Adds --header, --authority, --tls and --tls-ca, whose parsing fills `flags`,
// which outlives the command.
void AddConnectionFlags(CLI::App& command, ConnectionFlags& flags);

// Adds those, and --address, --model and --wait-ready-secs. The same of
// `address`, `model` and `wait_ready_s`.
void AddModelFlags(CLI::App& command, ConnectionFlags& connection,
                   std::string& address, std::string& model,
                   double& wait_ready_s);

// Returns "authorization:...,x-tenant:...": values of headers may be secret,
// and results are shown to others.
std::string HeadersWithoutValues(const std::vector<std::string>& headers);

// Returns a command line as results have it, without the values of --header.
// REQUIRES: at least one argument, the program, which is named `program`.
std::string CommandLineOf(const std::vector<std::string>& arguments,
                          const std::string& program);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_CONNECTION_FLAGS_H_
