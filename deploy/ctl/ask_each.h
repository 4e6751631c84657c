// AskEach() asks several servers at once, so that one that is silent does not
// keep the others waiting; FailureOfOne() is of a question to one alone.
//
// Thread safety: free functions.
#ifndef FERRY_DEPLOY_CTL_ASK_EACH_H_
#define FERRY_DEPLOY_CTL_ASK_EACH_H_

#include <future>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "deploy/ctl/http_source.h"

namespace ferry::ctl {

// Returns what `ask` returns of each server, in their order. It is called by a
// thread for each.
template <typename Ask>
auto AskEach(const std::vector<HttpSource>& servers, const Ask& ask) {
  using Reply = std::invoke_result_t<const Ask&, const HttpSource&>;
  std::vector<std::future<Reply>> asked;
  for (const HttpSource& server : servers) {
    asked.push_back(std::async(std::launch::async,
                               [&ask, &server] { return ask(server); }));
  }
  std::vector<Reply> replies;
  for (std::future<Reply>& reply : asked) {
    replies.push_back(reply.get());
  }
  return replies;
}

// Returns the failure where one server was asked, which is then the end; that
// of one of several is a finding beside the others.
template <typename Reply>
absl::Status FailureOfOne(const std::vector<Reply>& replies) {
  return replies.size() == 1 ? replies.front().failure : absl::OkStatus();
}

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ASK_EACH_H_
