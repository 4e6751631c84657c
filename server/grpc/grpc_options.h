// GrpcOptions says how gRPC is served, as ferry-server's flags have it.
//
// Thread safety: plain values.
#ifndef FERRY_SERVER_GRPC_GRPC_OPTIONS_H_
#define FERRY_SERVER_GRPC_GRPC_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/processor_count.h"
#include "server/grpc/status.h"
#include "server/net/connection_bounds.h"

namespace ferry {

enum class Reflection { kOff, kOn };
enum class AdminRpc { kOff, kOn };

// Which compression requests may have, and replies to clients that take it.
enum class Compression { kNone, kDeflate, kGzip };

// On one or two cores a second thread only takes turns with the first one
// (docs/decisions/0009-no-callback-methods.md); Triton's default is 2.
inline int DefaultInferThreads() { return ProcessorCount() <= 2 ? 1 : 2; }

enum class LoadTrailers { kOff, kOn };

// Whether clients may pass tensors in shared memory.
enum class ClientSharedMemory { kOff, kOn };

struct ListenAddress {
  std::string host;  // or unix:FILE, which has no port
  int port = 0;      // 0: any free one
};

// How long a connection may be; 0: as long as it likes.
struct ConnectionLives {
  Duration idle{0};  // without a call
  Duration age{0};
  Duration age_grace = Milliseconds(60'000);  // what calls have after that
};

struct GrpcOptions {
  std::string address = "127.0.0.1";
  int port = 8001;  // 0: any free one
  // Where alone what needs the scope admin is served; nothing: with all else.
  std::optional<ListenAddress> admin_address;
  int infer_thread_count = DefaultInferThreads();
  int64_t max_message_bytes = int64_t{64} << 20;
  // Bounds what gRPC holds of messages that have not all come, and its buffers.
  int64_t memory_bytes = int64_t{1} << 30;
  // Bounds all replies that were not read yet; the oldest is dropped past it.
  int64_t max_unsent_bytes = int64_t{512} << 20;
  Reflection reflection = Reflection::kOff;
  AdminRpc admin = AdminRpc::kOff;
  Compression compression = Compression::kNone;
  int max_streams = 0;  // of a connection; 0: by the models
  ConnectionBounds connections;
  ConnectionLives lives;
  StatusCodes status_codes = StatusCodes::kFerry;
  LoadTrailers load_trailers = LoadTrailers::kOff;
  ClientSharedMemory shared_memory = ClientSharedMemory::kOff;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_GRPC_OPTIONS_H_
