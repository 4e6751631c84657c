// HttpListener is a small HTTP server for /metrics, health and what models are,
// GET only, over TLS or plain.
//
// One thread; bounded connections, memory a connection and idle time. Where
// there are too many connections, one of the peer that has the most is closed
// (server/http/http_connections.h). It reads no body and no parameter.
//
// Thread safety: created and destroyed by one thread; the handlers are called
// from the listener's own.
// Errors: UNAVAILABLE where the socket cannot be listened on; INVALID_ARGUMENT
// where GnuTLS refuses key or certificates.
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
  std::string accept;         // the header; empty: none
  std::string authorization;  // likewise; "several" where there are more
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
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  using Routes = std::map<std::string, Handler>;  // by path
  using MayAnswer = std::function<std::optional<HttpReply>(const HttpRequest&)>;

  // None throws.
  struct Handlers {
    Routes routes;
    MayAnswer others;   // answers other paths; nullopt: none either
    MayAnswer refuses;  // is asked first: why a client may not have the page
  };

  // `tls`: key and certificates, as PEM; empty: plain. REQUIRES: `sockets` is
  // one.
  static absl::StatusOr<std::unique_ptr<HttpListener>> Create(
      ListenSockets sockets, Handlers handlers, const HttpBounds& bounds = {},
      const std::string& tls = "");

  // Returns one that takes the connections of the same port from now on, with
  // that TLS; this one serves those that it has. Errors: those of Create(),
  // and nothing has changed.
  absl::StatusOr<std::unique_ptr<HttpListener>> WithTls(
      const std::string& tls) const;

  // Waits for the reply under way.
  ~HttpListener();

  int port() const { return port_; }

 private:
  HttpListener(int port, Handlers handlers, const HttpBounds& bounds)
      : port_(port),
        handlers_(std::move(handlers)),
        bounds_(bounds),
        connections_(bounds.open_connections) {}

  // Serves that socket, which it owns from then on; where it cannot, the socket
  // is closed.
  absl::Status Start(int listen_fd, const std::string& tls);

  // The daemon's callbacks.
  struct Callbacks;

  const int port_;
  const Handlers handlers_;
  const HttpBounds bounds_;
  HttpConnections connections_;
  int listen_fd_ = -1;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_HTTP_LISTENER_H_
