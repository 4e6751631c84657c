// Over libmicrohttpd.
#include "server/http_listener.h"

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

constexpr unsigned kMaxConnections = 32;
constexpr unsigned kIdleSeconds = 10;
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

MHD_Result Answer(void* routes, MHD_Connection* connection, const char* url,
                  const char* method, const char*, const char*, size_t*,
                  void**) {
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return Send(connection, {.code = MHD_HTTP_METHOD_NOT_ALLOWED,
                             .body = "expected GET\n"});
  }
  const auto& table = *static_cast<const HttpListener::Routes*>(routes);
  const auto found = table.find(url);
  if (found == table.end()) {
    return Send(connection, {.code = MHD_HTTP_NOT_FOUND,
                             .body = "expected /metrics, /metrics/fine, "
                                     "/v2/health/live or /v2/health/ready\n"});
  }
  return Send(connection, found->second());
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Create(
    const std::string& address, int port, Routes routes) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, port);
  if (!parsed.ok()) {
    return parsed.status();
  }
  std::unique_ptr<HttpListener> listener(new HttpListener(std::move(routes)));
  listener->daemon_ = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | parsed->flags, 0, nullptr, nullptr,
      &Answer, const_cast<Routes*>(&listener->routes_), MHD_OPTION_SOCK_ADDR,
      reinterpret_cast<const sockaddr*>(&parsed->storage),
      MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
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
