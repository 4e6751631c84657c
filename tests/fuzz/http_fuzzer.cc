// http_fuzzer fuzzes HttpListener with ModelPages over loopback: the input is
// what clients send, each on a connection of its own, with a byte 0xff between
// them.
//
// What must hold, beside that nothing is read or written where it may not be:
//   1. A connection whose client has sent all is answered, or ended, at once.
//   2. What is answered begins as HTTP does.
//   3. A header that a handler sees is of one line.
//   4. A client that asks for a page then gets it.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/http/http_listener.h"
#include "server/http/model_pages.h"
#include "server/net/listen_sockets.h"

namespace ferry {
namespace {

// Few, so that inputs pass the bound.
constexpr size_t kOpenConnections = 3;
constexpr size_t kMostClients = 8;
constexpr time_t kPatienceS = 10;
constexpr char kBetween = '\xff';
constexpr char kPage[] = "served\n";

class Connection {
 public:
  explicit Connection(int port)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = kPatienceS, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    // libFuzzer's clock interrupts.
    while (connect(fd_, reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)) != 0) {
      Check(errno == EINTR, "the listener takes a connection");
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(fd_); }

  void Send(absl::string_view bytes) {
    send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // Sends nothing more; returns what comes until the listener ends it.
  std::string ReadAll() {
    shutdown(fd_, SHUT_WR);
    std::string all;
    char bytes[4096];
    ssize_t size = 0;
    while ((size = recv(fd_, bytes, sizeof(bytes), 0)) > 0 ||
           (size < 0 && errno == EINTR)) {
      all.append(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    }
    Check(size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK),
          "a connection ends");
    return all;
  }

 private:
  const int fd_;
};

HttpReply Page(const HttpRequest&) { return {.body = kPage}; }

std::optional<HttpReply> ModelPage(const HttpRequest& request) {
  static const auto* const models = new ModelTable();
  static const auto* const readiness = new Readiness();
  return ModelPages(*models, *readiness).Answer(request.path);
}

// Is asked of each request, before its page.
std::optional<HttpReply> Refuses(const HttpRequest& request) {
  for (const std::string& header : {request.accept, request.authorization}) {
    Check(!absl::StrContains(header, '\n'), "a header is a line");
  }
  if (absl::StartsWith(request.authorization, "Bearer ")) {
    return HttpReply{.code = 403, .body = request.authorization};
  }
  return std::nullopt;
}

std::unique_ptr<HttpListener> Listen() {
  auto sockets = ListenSockets::Bind("127.0.0.1", 0);
  Check(sockets.ok(), "the socket is bound");
  auto listener = HttpListener::Create(
      *std::move(sockets),
      {.routes = {{"/page", &Page}}, .others = &ModelPage, .refuses = &Refuses},
      {.open_connections = kOpenConnections, .idle_seconds = 0});
  Check(listener.ok(), "the listener serves");
  return *std::move(listener);
}

void CheckClients(absl::string_view bytes) {
  static const int port = Listen().release()->port();
  std::vector<std::unique_ptr<Connection>> clients;
  for (const absl::string_view sent :
       absl::StrSplit(bytes, absl::MaxSplits(kBetween, kMostClients - 1))) {
    clients.push_back(std::make_unique<Connection>(port));
    clients.back()->Send(sent);
  }
  for (const auto& client : clients) {
    const std::string reply = client->ReadAll();
    Check(reply.empty() || absl::StartsWith(reply, "HTTP/1."),
          "a reply is of HTTP");
  }
  Connection honest(port);
  honest.Send("GET /page HTTP/1.1\r\nHost: here\r\n\r\n");
  const std::string reply = honest.ReadAll();
  Check(absl::StartsWith(reply, "HTTP/1.1 200 ") &&
            absl::EndsWith(reply, absl::StrCat("\r\n\r\n", kPage)),
        "an honest client is served");
}

}  // namespace
}  // namespace ferry

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferry::CheckClients({reinterpret_cast<const char*>(data), size});
  return 0;
}
