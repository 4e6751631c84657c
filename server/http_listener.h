// HttpListener: a small HTTP server for /metrics and health, GET only.
//
// One thread; bounded connections, memory a connection and idle time. It reads
// no body and no parameter.
//
// Thread safety: created and destroyed by one thread; the handlers are called
// from the listener's own.
// Errors: INVALID_ARGUMENT for an address that is none, UNAVAILABLE where it
// cannot be listened on.
#ifndef FERRY_SERVER_HTTP_LISTENER_H_
#define FERRY_SERVER_HTTP_LISTENER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct MHD_Daemon;

namespace ferry {

struct HttpReply {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpListener {
 public:
  using Handler = std::function<HttpReply()>;     // does not throw
  using Routes = std::map<std::string, Handler>;  // by path

  // Port 0 picks a free one.
  static absl::StatusOr<std::unique_ptr<HttpListener>> Create(
      const std::string& address, int port, Routes routes);

  // Waits for the reply under way.
  ~HttpListener();

  int port() const;

 private:
  explicit HttpListener(Routes routes) : routes_(std::move(routes)) {}

  const Routes routes_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_LISTENER_H_
