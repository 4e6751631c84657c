// SendGoaways() tells every client of a gRPC server to open no more calls.
//
// Each connection gets HTTP/2's GOAWAY, in its graceful form (RFC 9113, 6.8):
// calls that a client opens before it hears of it are served, then the
// connection ends. A connection that was told before is not told again.
//
// gRPC 1.51 offers this only as part of a shutdown, which cancels the calls
// that arrive meanwhile (docs/decisions/0043-end-of-a-drain.md).
//
// Thread safety: thread-safe. REQUIRES: the server was started.
#ifndef FERRY_SERVER_GRPC_GOAWAY_H_
#define FERRY_SERVER_GRPC_GOAWAY_H_

#include <grpcpp/server.h>

namespace ferry {

void SendGoaways(grpc::Server& server);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_GOAWAY_H_
