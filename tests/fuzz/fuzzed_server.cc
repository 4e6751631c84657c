// Implements FuzzedServer: puts the parts of a server together.
#include "tests/fuzz/fuzzed_server.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/time/clock.h"
#include "base/check.h"
#include "server/net/listen_sockets.h"
#include "server/net/open_files.h"

namespace ferry {
namespace {

// Returns the value of what must succeed.
template <typename T>
T Expect(absl::StatusOr<T> value, const char* what) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  }
  Check(value.ok(), what);
  return *std::move(value);
}

}  // namespace

FuzzedServer::FuzzedServer(const std::string& model, const std::string& config)
    : folder_(
          Expect(TemporaryFolder::Create(TemporaryFolder::Use::kCheckedFiles),
                 "a folder can be made")),
      keeper_(Expect(Gatekeeper::Open({}, {}, absl::Now()), "all may come")) {
  const std::string models = folder_->path() + "/models";
  std::filesystem::create_directories(models + "/" + model + "/1");
  std::ofstream(models + "/" + model + "/config.pbtxt") << config;
  repository_ =
      std::make_unique<ModelRepository>(ModelRepositoryOptions{.path = models});
  control_ = Expect(ModelControl::Create(*repository_, models_, {}),
                    "the model can be loaded");
  GrpcOptions options;
  options.infer_thread_count = 1;
  options.max_message_bytes = 1 << 20;
  options.admin = AdminRpc::kOn;
  endpoint_ = GrpcEndpoint::Create(
      options, *keeper_, models_, *control_, readiness_, unsent_,
      {.memory = memory_, .shares = shares_}, load_, /*tracer=*/nullptr);
  readiness_.MoveTo(ServerState::kReady);
  ListenSockets sockets =
      Expect(ListenSockets::Bind(address(), 0), "the socket can be bound");
  acceptor_ = Expect(
      Acceptor::Start(
          std::move(sockets),
          {.take =
               [this](int listen_fd, int fd) {
                 return endpoint_->Take(MethodSet::kAll,
                                        {.all = kMaxConnections, .of_peer = 0},
                                        listen_fd, fd);
               },
           .tell =
               [](bool is_blind) {
                 Check(!is_blind, "there are files for all connections");
               },
           .turned = [] {}},
          FirstReservedFile(OpenFileLimit())),
      "the socket can be listened on");
}

OwnedFd FuzzedServer::Connect() const {
  OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string path = SocketPath();
  Check(path.size() < sizeof(to.sun_path), "the path fits");
  path.copy(to.sun_path, path.size());
  Check(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0,
        "the server can be reached");
  return fd;
}

bool FuzzedServer::IsIdle() const {
  if (unsent_.bytes() > 0) {
    return false;
  }
  for (const ModelUse& use : models_.UseEach()) {
    if (!use->model().scheduler->IsIdle()) {
      return false;
    }
  }
  return true;
}

}  // namespace ferry
