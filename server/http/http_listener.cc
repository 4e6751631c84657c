// Implements HttpListener over libmicrohttpd.
#include "server/http/http_listener.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace ferry {
namespace {

// Connections that were shut and whose end the daemon has yet to see. It looks
// for that as often as it takes a new one.
constexpr size_t kShutConnections = 8;
constexpr size_t kConnectionBytes = 16 << 10;  // for a request's head

MHD_Result Send(MHD_Connection* connection, HttpReply reply) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          reply.content_type.c_str());
  for (const auto& [name, value] : reply.headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
  if (reply.code == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(
      connection, static_cast<unsigned>(reply.code), response);
  MHD_destroy_response(response);
  return result;
}

HttpReply ReplyTo(const HttpListener::Routes& routes,
                  const HttpListener::Others& others, const char* method,
                  const HttpRequest& request) {
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return {.code = MHD_HTTP_METHOD_NOT_ALLOWED,
            .body = "expected GET; inference is served over gRPC\n"};
  }
  if (const auto found = routes.find(request.path); found != routes.end()) {
    return found->second(request);
  }
  std::optional<HttpReply> reply;
  if (others) {
    reply = others(request);
  }
  return reply.value_or(
      HttpReply{.code = MHD_HTTP_NOT_FOUND,
                .body = "expected /, /status.json, /metrics, /metrics/fine, "
                        "/v2/health/live, /v2/health/ready, /v2 or "
                        "/v2/models/NAME\n"});
}

}  // namespace

struct HttpListener::Callbacks {
  static MHD_Result HeadCame(void* listener, MHD_Connection* connection,
                             const char* path, const char* method, const char*,
                             const char*, size_t*, void**) {
    auto& self = *static_cast<HttpListener*>(listener);
    self.connections_.Asked(*connection);
    const char* const accept = MHD_lookup_connection_value(
        connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const HttpRequest request = {.path = path,
                                 .accept = accept == nullptr ? "" : accept};
    return Send(connection,
                ReplyTo(self.routes_, self.others_, method, request));
  }

  static void ConnectionChanged(void* listener, MHD_Connection* connection,
                                void**, MHD_ConnectionNotificationCode what) {
    auto& self = *static_cast<HttpListener*>(listener);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      self.connections_.Opened(*connection);
    } else {
      self.connections_.Closed(*connection);
    }
  }
};

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Create(
    ListenSockets sockets, Routes routes, const HttpBounds& bounds,
    Others others) {
  Check(sockets.fds().size() == 1, "HTTP listens at one address");
  if (absl::Status status = sockets.Listen(); !status.ok()) {
    return status;
  }
  std::unique_ptr<HttpListener> listener(new HttpListener(
      sockets.port(), std::move(routes), bounds, std::move(others)));
  const auto max_connections =
      static_cast<unsigned>(bounds.open_connections + kShutConnections);
  listener->daemon_ = MHD_start_daemon(
      // poll(): select() takes no socket past 1023, which thousands of gRPC
      // connections leave for this one.
      MHD_USE_POLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Callbacks::HeadCame,
      listener.get(), MHD_OPTION_LISTEN_SOCKET, sockets.fds().front(),
      MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::ConnectionChanged,
      listener.get(), MHD_OPTION_CONNECTION_LIMIT, max_connections,
      MHD_OPTION_CONNECTION_TIMEOUT, bounds.idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_END);
  if (listener->daemon_ == nullptr) {
    return absl::UnavailableError(std::strerror(errno));
  }
  sockets.Release();  // the daemon closes it
  return listener;
}

HttpListener::~HttpListener() {
  if (daemon_ != nullptr) {
    MHD_stop_daemon(daemon_);
  }
}

}  // namespace ferry
