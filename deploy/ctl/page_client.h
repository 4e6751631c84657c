// PageClient fetches pages of the metrics ports of servers.
//
// Thread safety: thread-compatible.
// Errors: INVALID_ARGUMENT for an address that is none of HTTP; UNAVAILABLE
// where no page comes; UNAUTHENTICATED and PERMISSION_DENIED, with what the
// server says.
#ifndef FERRY_DEPLOY_CTL_PAGE_CLIENT_H_
#define FERRY_DEPLOY_CTL_PAGE_CLIENT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "deploy/ctl/server_flags.h"

namespace ferry::ctl {

struct Page {
  int code = 0;  // of HTTP
  std::string body;
};

class PageClient {
 public:
  // Reads the files that the flags name.
  static absl::StatusOr<PageClient> Create(const ServerFlags& flags);

  // `address` is host:port, `path` as "/metrics".
  absl::StatusOr<Page> Get(const std::string& address,
                           const std::string& path) const;

 private:
  PageClient(ServerFlags flags, bench::ConnectionOptions connection)
      : flags_(std::move(flags)), connection_(std::move(connection)) {}

  const ServerFlags flags_;
  const bench::ConnectionOptions connection_;
};

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PAGE_CLIENT_H_
