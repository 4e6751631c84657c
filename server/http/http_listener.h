// HttpListener is a small HTTP server for /metrics, health and what models are,
// GET only.
//
// One thread; bounded connections, memory a connection and idle time. Where
// there are too many connections, the one that asked the longest ago is closed
// (server/http/http_connections.h). It reads no body and no parameter.
//
// Thread safety: created and destroyed by one thread; the handlers are called
// from the listener's own.
// Errors: UNAVAILABLE where the socket cannot be listened on.
#ifndef FERRY_SERVER_HTTP_HTTP_LISTENER_H_
#define FERRY_SERVER_HTTP_HTTP_LISTENER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/http/http_connections.h"
#include "server/net/listen_sockets.h"

struct MHD_Daemon;

namespace ferry {

struct HttpRequest {
  std::string path;
  std::string accept;  // the header; empty: none
};

struct HttpReply {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};  // more
};

struct HttpBounds {
  size_t open_connections = 32;
  unsigned idle_seconds = 10;  // of a connection; 0: no bound
};

class HttpListener {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;  // not to throw
  using Routes = std::map<std::string, Handler>;                 // by path
  // Answers other paths; nullopt: none either. Does not throw.
  using Others = std::function<std::optional<HttpReply>(const HttpRequest&)>;

  // REQUIRES: `sockets` is one.
  static absl::StatusOr<std::unique_ptr<HttpListener>> Create(
      ListenSockets sockets, Routes routes, const HttpBounds& bounds = {},
      Others others = {});

  // Waits for the reply under way.
  ~HttpListener();

  int port() const { return port_; }

 private:
  HttpListener(int port, Routes routes, const HttpBounds& bounds, Others others)
      : port_(port),
        routes_(std::move(routes)),
        others_(std::move(others)),
        connections_(bounds.open_connections) {}

  // The daemon's callbacks.
  struct Callbacks;

  const int port_;
  const Routes routes_;
  const Others others_;
  HttpConnections connections_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_HTTP_LISTENER_H_
