// FuzzedServer serves a model that echoes as ferry-server does: through its
// acceptor, its frame fence and its gRPC endpoint, on a UNIX socket.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_FUZZ_FUZZED_SERVER_H_
#define FERRY_TESTS_FUZZ_FUZZED_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "models/files/temporary_folder.h"
#include "models/repository/model_repository.h"
#include "server/auth/gatekeeper.h"
#include "server/control/client_shares.h"
#include "server/control/memory_guard.h"
#include "server/control/model_control.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/grpc/endpoint_load.h"
#include "server/grpc/grpc_endpoint.h"
#include "server/grpc/unsent_replies.h"
#include "server/net/acceptor.h"
#include "tests/support/fake_clock.h"

namespace ferry {

class FuzzedServer {
 public:
  // So few connections that one which is never given back is soon missed.
  static constexpr int kMaxConnections = 16;

  // Serves one model of that config. Ends the process where it cannot.
  FuzzedServer(const std::string& model, const std::string& config);

  // Returns it as clients of gRPC write it.
  std::string address() const { return "unix:" + SocketPath(); }

  // Opens one more connection.
  OwnedFd Connect() const;

  // Whether nothing is left of what was asked: no request waits or runs, and no
  // reply is unsent.
  bool IsIdle() const;

 private:
  std::string SocketPath() const { return folder_->path() + "/socket"; }

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<Gatekeeper> keeper_;
  std::unique_ptr<ModelRepository> repository_;
  ModelTable models_;
  std::unique_ptr<ModelControl> control_;
  const FakeClock clock_;  // it stays live, though nothing looks after it
  Readiness readiness_{clock_};
  UnsentReplies unsent_{size_t{64} << 20};
  MemoryGuard memory_{MemoryBounds(), INT64_MAX};
  ClientShares shares_{ClientBounds()};
  EndpointLoad load_;
  std::unique_ptr<GrpcEndpoint> endpoint_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_FUZZ_FUZZED_SERVER_H_
