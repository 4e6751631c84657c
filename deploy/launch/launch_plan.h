// MakePlan makes for each slice the command, environment, ports and label of
// its server. A pure function of the flags and the slices.
//
// Thread safety: plain values.
// Errors: INVALID_ARGUMENT with one line: no slices, two servers on a port, a
// label that is none or given twice, an unknown {placeholder}, an argument that
// the launcher sets itself, or that would keep it from asking for health.
#ifndef FERRY_DEPLOY_LAUNCH_LAUNCH_PLAN_H_
#define FERRY_DEPLOY_LAUNCH_LAUNCH_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/slice.h"

namespace ferry::launch {

struct PlanOptions {
  std::string server;  // path of ferry-server
  // "unix:" and a path is a socket, with the placeholders of server_arguments.
  std::string grpc_address = "127.0.0.1";
  int grpc_port = 8101;  // of the first server; the next ones follow
  std::string metrics_address = "127.0.0.1";
  int metrics_port = 8201;  // as grpc_port
  // One a slice, or none: then <profile>-<index>, or cpu-<index>.
  std::vector<std::string> labels;
  // Further arguments of every server. {label}, {uuid}, {profile}, {index},
  // {grpc_port}, {metrics_port}, {memory_mib} and {numa_node} stand for the
  // slice's own.
  std::vector<std::string> server_arguments;
};

struct ServerPlan {
  std::string label;  // unique: letters, digits, '.', '_', '-'
  Slice slice;
  std::string grpc_address;
  int grpc_port = 0;
  std::string metrics_address;
  int metrics_port = 0;
  bool has_tls = false;
  std::vector<std::string> command{};  // the program first
  std::vector<std::string>
      environment{};  // NAME=VALUE, added to the launcher's
};

absl::StatusOr<std::vector<ServerPlan>> MakePlan(
    const PlanOptions& options, const std::vector<Slice>& slices);

// Returns the command with its environment as a shell would take it.
std::string ToShellLine(const ServerPlan& plan);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_LAUNCH_PLAN_H_
