// FrameFence counts the connections of each peer, and the frames of each
// connection that gRPC reads, before gRPC does; it ends a connection that
// floods, and keeps one that gRPC closes until its client has read all
// (lingering.h).
//
// It stands in the place of recvmsg(2), for plain connections, and of
// SSL_read(3), for those with TLS, by which gRPC's library reads, and of
// shutdown(2), which it calls before it closes a connection: a function of
// that name in the program comes before the system's (ld.so(8)). So nothing is
// copied, no thread is added, and what a flood sends is read by nothing behind
// it. The connection ends as if its client had closed it.
// docs/decisions/0057-frames-are-counted-before-grpc.md says what else was
// weighed.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_NET_FRAME_FENCE_H_
#define FERRY_SERVER_NET_FRAME_FENCE_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "server/net/connection_bounds.h"
#include "server/net/frame_counter.h"

namespace ferry {

// Bounds connections that come from now on by how many calls one may have under
// way at once. Before the first connection.
void SetStreamsOfConnection(int streams);

// Where the frames of a connection are read: on the socket, or within TLS,
// where they are counted without being asked to.
enum class Frames : uint8_t { kPlain, kInTls };

// Counts the frames of that connection from now on, and where it has bounds the
// connection, among all that have some. Called before gRPC has it. Returns
// false where it passes the bounds: then nothing is counted.
bool FenceConnection(int fd, const std::string& peer, Frames frames,
                     const ConnectionBounds& bounds);

// Closes what gRPC has closed once its clients have read it; returns whether
// some of it is left. To be called twice a second.
bool LookAtClosedConnections(TimePoint now);

// Connections that were ended, by FrameFlood.
using FenceCounts = std::array<uint64_t, kFrameFloodCount>;

FenceCounts CountFenced();

}  // namespace ferry

#endif  // FERRY_SERVER_NET_FRAME_FENCE_H_
