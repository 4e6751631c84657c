// Implements HttpListener over libmicrohttpd.
#include "server/http/http_listener.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

// Connections that were shut and whose end the daemon has yet to see. It looks
// for that as often as it takes a new one.
constexpr size_t kShutConnections = 8;
constexpr size_t kConnectionBytes = 16 << 10;  // for a request's head

struct Address {
  sockaddr_storage storage{};
  unsigned flags = 0;
};

absl::StatusOr<Address> ParseAddress(const std::string& text, int port) {
  Address address;
  const auto network_port = htons(static_cast<uint16_t>(port));
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = network_port;
    return address;
  }
  address = Address();
  if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = network_port;
    address.flags = MHD_USE_IPv6;
    return address;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--metrics-address: expected an IP address, got '", text, "'"));
}

MHD_Result Send(MHD_Connection* connection, HttpReply reply) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          reply.content_type.c_str());
  if (reply.code == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(
      connection, static_cast<unsigned>(reply.code), response);
  MHD_destroy_response(response);
  return result;
}

HttpReply ReplyTo(const HttpListener::Routes& routes, const char* method,
                  const char* path) {
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return {.code = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "expected GET\n"};
  }
  const auto found = routes.find(path);
  if (found == routes.end()) {
    return {.code = MHD_HTTP_NOT_FOUND,
            .body =
                "expected /metrics, /metrics/fine, "
                "/v2/health/live or /v2/health/ready\n"};
  }
  return found->second();
}

}  // namespace

struct HttpListener::Callbacks {
  static MHD_Result HeadCame(void* listener, MHD_Connection* connection,
                             const char* path, const char* method, const char*,
                             const char*, size_t*, void**) {
    auto& self = *static_cast<HttpListener*>(listener);
    self.connections_.Asked(*connection);
    return Send(connection, ReplyTo(self.routes_, method, path));
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
    const std::string& address, int port, Routes routes,
    const HttpBounds& bounds) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, port);
  if (!parsed.ok()) {
    return parsed.status();
  }
  std::unique_ptr<HttpListener> listener(
      new HttpListener(std::move(routes), bounds));
  const auto max_connections =
      static_cast<unsigned>(bounds.open_connections + kShutConnections);
  listener->daemon_ = MHD_start_daemon(
      // poll(): select() takes no socket past 1023, which thousands of gRPC
      // connections leave for this one.
      MHD_USE_POLL_INTERNAL_THREAD | parsed->flags, 0, nullptr, nullptr,
      &Callbacks::HeadCame, listener.get(), MHD_OPTION_SOCK_ADDR,
      reinterpret_cast<const sockaddr*>(&parsed->storage),
      MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::ConnectionChanged,
      listener.get(), MHD_OPTION_CONNECTION_LIMIT, max_connections,
      MHD_OPTION_CONNECTION_TIMEOUT, bounds.idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_END);
  if (listener->daemon_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ":", port,
                     " for metrics: ", std::strerror(errno)));
  }
  return listener;
}

HttpListener::~HttpListener() {
  if (daemon_ != nullptr) {
    MHD_stop_daemon(daemon_);
  }
}

int HttpListener::port() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace ferry
