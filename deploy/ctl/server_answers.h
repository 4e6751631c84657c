// StatusAnswer() and HealthAnswer() say how running servers are,
// RuntimeOptionsAnswer() how a model of one batches, DrainAnswer() how one
// ended.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_SERVER_ANSWERS_H_
#define FERRY_DEPLOY_CTL_SERVER_ANSWERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "deploy/ctl/answer.h"
#include "deploy/ctl/drain_watch.h"
#include "deploy/ctl/server_look.h"
#include "proto/admin.pb.h"

namespace ferry::ctl {

// One page: servers, their devices, and a row for each version. Findings: a
// server that does not answer or is not ready, critical; a version that the
// server has a reason against, a warning.
Answer StatusAnswer(const std::vector<ServerLook>& looks);

// What a server says of its health.
struct Health {
  std::string address;
  bool is_good = false;
  std::string reason = {};    // why not; may be empty
  absl::Status failure = {};  // why it did not say it; then it is not good
};

// `wanted`: "ready" or "live". A server that is not, or does not say it, is a
// critical finding.
Answer HealthAnswer(const std::string& wanted,
                    const std::vector<Health>& servers);

// `model`: "'sim'" or "'sim' version 3". `after`: those in force from now on;
// nothing: they were asked for alone.
Answer RuntimeOptionsAnswer(const std::string& address,
                            const std::string& model,
                            const v1::RuntimeOptions& before,
                            const std::optional<v1::RuntimeOptions>& after);

// A server that was not seen to drain, or is still there after `timeout_s`, is
// a critical finding.
Answer DrainAnswer(const std::string& address, ServerEnd end, double timeout_s);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_SERVER_ANSWERS_H_
