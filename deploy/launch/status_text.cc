// Implements StatusLine and StatusJson.
#include "deploy/launch/status_text.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::launch {
namespace {

// Returns what the server's log writes; of IPv6 in brackets.
std::string HostPort(const std::string& host, int port) {
  if (absl::StartsWith(host, "unix:")) {
    return host;
  }
  return host.find(':') == std::string::npos
             ? absl::StrCat(host, ":", port)
             : absl::StrCat("[", host, "]:", port);
}

std::string Device(const Slice& slice) {
  return slice.uuid.empty() ? "cpu" : slice.uuid;
}

}  // namespace

std::string StatusLine(const ServerStatus& status, TimePoint now) {
  const ServerPlan& plan = *status.plan;
  const ServerLife& life = *status.life;
  std::string line = absl::StrCat(plan.label, " ", LifeStateName(life.state()));
  if (status.pid != 0) {
    absl::StrAppend(&line, " pid=", status.pid);
  }
  absl::StrAppend(
      &line, " grpc=", HostPort(plan.grpc_address, plan.grpc_port),
      " metrics=", HostPort(plan.metrics_address, plan.metrics_port),
      " restarts=", life.restarts(), " device=", Device(plan.slice));
  if (!plan.slice.profile.empty()) {
    absl::StrAppend(&line, " profile=", plan.slice.profile);
  }
  if (life.failed_starts() > 0) {
    absl::StrAppend(&line, " failed_starts=", life.failed_starts());
  }
  if (life.last_end().has_value()) {
    absl::StrAppend(&line, " last_end=\"", DescribeEnd(*life.last_end()), "\"");
  }
  if (life.state() == LifeState::kWaiting) {
    const std::chrono::duration<double> wait = life.next_start() - now;
    absl::StrAppendFormat(&line, " restart_in=%.1fs",
                          std::max(wait.count(), 0.0));
  }
  return line;
}

std::string StatusJson(const std::vector<ServerStatus>& all) {
  nlohmann::json servers = nlohmann::json::array();
  for (const ServerStatus& status : all) {
    const ServerPlan& plan = *status.plan;
    nlohmann::json server = {
        {"label", plan.label},
        {"state", LifeStateName(status.life->state())},
        {"pid", nullptr},
        {"grpc", HostPort(plan.grpc_address, plan.grpc_port)},
        {"metrics", HostPort(plan.metrics_address, plan.metrics_port)},
        {"restarts", status.life->restarts()},
        {"failed_starts", status.life->failed_starts()},
        {"device", Device(plan.slice)},
        {"profile", plan.slice.profile},
        {"last_end", nullptr}};
    if (status.pid != 0) {
      server["pid"] = status.pid;
    }
    if (status.life->last_end().has_value()) {
      server["last_end"] = DescribeEnd(*status.life->last_end());
    }
    servers.push_back(std::move(server));
  }
  return nlohmann::json({{"servers", std::move(servers)}})
             .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace ferry::launch
