// StatusLine tells of one server in a line, StatusJson of all servers as JSON.
//
// Thread safety: plain functions.
#ifndef FERRY_DEPLOY_LAUNCH_STATUS_TEXT_H_
#define FERRY_DEPLOY_LAUNCH_STATUS_TEXT_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "deploy/launch/launch_plan.h"
#include "deploy/launch/server_life.h"

namespace ferry::launch {

struct ServerStatus {
  const ServerPlan* plan;
  const ServerLife* life;
  pid_t pid = 0;  // 0: no process
};

// "1g.18gb-0 ready pid=12 grpc=127.0.0.1:8101 metrics=127.0.0.1:8201
// restarts=0 device=MIG-.. profile=1g.18gb", without an end of line.
std::string StatusLine(const ServerStatus& status, TimePoint now);

// {"servers": [{"label": .., "state": .., ..}]} with an end of line.
std::string StatusJson(const std::vector<ServerStatus>& all);

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_STATUS_TEXT_H_
