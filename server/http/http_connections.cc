// Implements HttpConnections: a short list, moved along.
#include "server/http/http_connections.h"

#include <microhttpd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "server/net/peer.h"

namespace ferry {
namespace {

int FileOf(MHD_Connection& connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(&connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

}  // namespace

void HttpConnections::Opened(MHD_Connection& connection) {
  by_last_request_.push_back(
      {&connection, PeerOf(FileOf(connection)).value_or("")});
  if (by_last_request_.size() > max_open_) {
    ShutOne();
  }
}

void HttpConnections::ShutOne() {
  std::map<std::string, size_t> of_peer;
  for (const Open& open : by_last_request_) {
    ++of_peer[open.peer];
  }
  size_t most = 0;
  for (const auto& [peer, count] : of_peer) {
    most = std::max(most, count);
  }
  const auto oldest = std::find_if(
      by_last_request_.begin(), by_last_request_.end(),
      [&](const Open& open) { return of_peer[open.peer] == most; });
  // The daemon finds its end at once, and closes it. Not by shutdown(), which
  // FrameFence has in its place for connections of gRPC.
  syscall(SYS_shutdown, FileOf(*oldest->connection), SHUT_RDWR);
  by_last_request_.erase(oldest);
}

std::vector<HttpConnections::Open>::iterator HttpConnections::Find(
    const MHD_Connection& connection) {
  return std::find_if(by_last_request_.begin(), by_last_request_.end(),
                      [&connection](const Open& open) {
                        return open.connection == &connection;
                      });
}

void HttpConnections::Asked(MHD_Connection& connection) {
  const auto found = Find(connection);
  if (found != by_last_request_.end()) {  // it may have been shut meanwhile
    std::rotate(found, found + 1, by_last_request_.end());
  }
}

void HttpConnections::Closed(MHD_Connection& connection) {
  const auto found = Find(connection);
  if (found != by_last_request_.end()) {
    by_last_request_.erase(found);
  }
}

}  // namespace ferry
