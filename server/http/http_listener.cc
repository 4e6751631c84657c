// Implements HttpListener over libmicrohttpd.
#include "server/http/http_listener.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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
// What a client shows that sends several tokens: none that is known, as over
// gRPC (server/grpc/credentials.cc).
constexpr char kSeveral[] = "several";
// TLS 1.2 and 1.3, as GnuTLS writes it (gnutls.org, "Priority strings").
constexpr char kTlsVersions[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1";

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

HttpReply ReplyTo(const HttpListener::Handlers& handlers, const char* method,
                  const HttpRequest& request) {
  std::optional<HttpReply> reply;
  if (handlers.refuses) {
    reply = handlers.refuses(request);
  }
  if (reply.has_value()) {
    return *std::move(reply);
  }
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return {.code = MHD_HTTP_METHOD_NOT_ALLOWED,
            .body = "expected GET; inference is served over gRPC\n"};
  }
  if (const auto found = handlers.routes.find(request.path);
      found != handlers.routes.end()) {
    return found->second(request);
  }
  if (handlers.others) {
    reply = handlers.others(request);
  }
  return reply.value_or(
      HttpReply{.code = MHD_HTTP_NOT_FOUND,
                .body = "expected /, /status.json, /metrics, /metrics/fine, "
                        "/v2/health/live, /v2/health/ready, /v2 or "
                        "/v2/models/NAME\n"});
}

struct HeaderCount {
  const char* name;
  size_t found = 0;
};

bool HasSeveral(MHD_Connection* connection, const char* name) {
  HeaderCount count = {.name = name};
  MHD_get_connection_values(
      connection, MHD_HEADER_KIND,
      [](void* to, MHD_ValueKind, const char* header, const char*) {
        auto& counted = *static_cast<HeaderCount*>(to);
        counted.found += strcasecmp(header, counted.name) == 0 ? 1 : 0;
        return MHD_YES;
      },
      &count);
  return count.found > 1;
}

// Whether the descriptor is of that file. A start that fails has closed the
// socket where GnuTLS or a thread was the cause, and left it open where there
// were too many files: the number may be another thread's by then.
bool IsOf(const struct stat& file, int fd) {
  struct stat now {};
  return fstat(fd, &now) == 0 && now.st_dev == file.st_dev &&
         now.st_ino == file.st_ino;
}

}  // namespace

struct HttpListener::Callbacks {
  static MHD_Result HeadCame(void* listener, MHD_Connection* connection,
                             const char* path, const char* method, const char*,
                             const char*, size_t*, void**) {
    auto& self = *static_cast<HttpListener*>(listener);
    self.connections_.Asked(*connection);
    const auto header = [connection](const char* name) {
      const char* const value =
          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
      return value == nullptr ? "" : value;
    };
    HttpRequest request = {
        .path = path,
        .accept = header(MHD_HTTP_HEADER_ACCEPT),
        .authorization = header(MHD_HTTP_HEADER_AUTHORIZATION)};
    if (HasSeveral(connection, MHD_HTTP_HEADER_AUTHORIZATION)) {
      request.authorization = kSeveral;
    }
    return Send(connection, ReplyTo(self.handlers_, method, request));
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
    ListenSockets sockets, Handlers handlers, const HttpBounds& bounds,
    const std::string& tls) {
  Check(sockets.fds().size() == 1, "HTTP listens at one address");
  if (absl::Status status = sockets.Listen(); !status.ok()) {
    return status;
  }
  std::unique_ptr<HttpListener> listener(
      new HttpListener(sockets.port(), std::move(handlers), bounds));
  if (absl::Status status = listener->Start(sockets.Release().front(), tls);
      !status.ok()) {
    return status;
  }
  return listener;
}

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::WithTls(
    const std::string& tls) const {
  std::unique_ptr<HttpListener> listener(
      new HttpListener(port_, handlers_, bounds_));
  const int fd = fcntl(listen_fd_, F_DUPFD_CLOEXEC, 0);
  absl::Status status = fd < 0 ? absl::UnavailableError(std::strerror(errno))
                               : listener->Start(fd, tls);
  if (!status.ok()) {
    return status;
  }
  MHD_quiesce_daemon(daemon_);
  return listener;
}

absl::Status HttpListener::Start(int listen_fd, const std::string& tls) {
  const auto max_connections =
      static_cast<unsigned>(bounds_.open_connections + kShutConnections);
  // The PEM is the key's and the certificate's: each reader takes its own.
  std::vector<MHD_OptionItem> more;
  if (!tls.empty()) {
    for (const MHD_OPTION option :
         {MHD_OPTION_HTTPS_MEM_KEY, MHD_OPTION_HTTPS_MEM_CERT}) {
      more.push_back({option, 0, const_cast<char*>(tls.c_str())});
    }
    more.push_back(
        {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});
  // poll(): select() takes no socket past 1023, which thousands of gRPC
  // connections leave for this one.
  unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC;
  if (!tls.empty()) {
    flags |= MHD_USE_TLS;
  }
  struct stat served {};
  fstat(listen_fd, &served);
  errno = 0;
  daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &Callbacks::HeadCame, this,
      MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_NOTIFY_CONNECTION,
      &Callbacks::ConnectionChanged, this, MHD_OPTION_CONNECTION_LIMIT,
      max_connections, MHD_OPTION_CONNECTION_TIMEOUT, bounds_.idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_ARRAY,
      more.data(), MHD_OPTION_END);
  const int error = errno;
  if (daemon_ != nullptr || IsOf(served, listen_fd)) {
    listen_fd_ = listen_fd;
  }
  if (daemon_ != nullptr) {
    return absl::OkStatus();
  }
  // GnuTLS sets no errno where it refuses the PEM.
  if (error != 0 || tls.empty()) {
    return absl::UnavailableError(std::strerror(error));
  }
  return absl::InvalidArgumentError(
      "expected a key and certificates that GnuTLS takes, got others: replace "
      "them, best by those of RSA, P-256 or P-384");
}

HttpListener::~HttpListener() {
  if (daemon_ != nullptr) {
    MHD_quiesce_daemon(daemon_);  // so that it leaves the socket as it is
    MHD_stop_daemon(daemon_);
  }
  if (listen_fd_ >= 0) {
    close(listen_fd_);
  }
}

}  // namespace ferry
