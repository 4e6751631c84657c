// HttpPort serves HTTP at one port, with the certificate that is in force.
//
// Where that changes, a second listener takes the port's connections, and the
// first one has until the next look to answer what it was asked.
//
// Thread safety: one thread; the handlers are called from another.
#ifndef FERRY_SERVER_HTTP_HTTP_PORT_H_
#define FERRY_SERVER_HTTP_HTTP_PORT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/http/http_listener.h"
#include "server/net/listen_sockets.h"

namespace ferry {

class HttpPort {
 public:
  // `tls`: key and certificates, as PEM; empty: plain. REQUIRES: `sockets` is
  // one. Errors: those of HttpListener::Create().
  static absl::StatusOr<std::unique_ptr<HttpPort>> Open(
      ListenSockets sockets, HttpListener::Handlers handlers,
      const std::string& tls);

  // Called from time to time with what is in force; returns whether the port is
  // served with it. What GnuTLS refuses is told once, and is not tried again
  // until another comes. What fails for another reason is tried at each look,
  // and told once a minute.
  bool Look(const std::string& tls, TimePoint now);

  int port() const { return listener_->port(); }

 private:
  HttpPort(std::unique_ptr<HttpListener> listener, std::string tls);

  std::unique_ptr<HttpListener> listener_;
  std::unique_ptr<HttpListener> before_;  // of another certificate, or null
  std::string tls_;                       // of listener_
  std::optional<std::string> refused_;    // the TLS of the last look, if so
  std::optional<TimePoint> told_at_;      // that another try failed
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_HTTP_PORT_H_
