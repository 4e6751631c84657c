// HttpConnections keeps the open connections of an HttpListener and, when there
// are too many, shuts one of the peer that has the most: the one that asked
// longest ago, or never did. So connections that send no whole request, or do
// not read their reply, keep no client out, however slowly they go on: a client
// that comes and asks is the newest. And one peer that opens many ends its own.
//
// Invariant: no more than `max_open` are open, but for those that were shut and
// that the daemon has yet to see the end of.
//
// Thread safety: the listener's thread only.
#ifndef FERRY_SERVER_HTTP_HTTP_CONNECTIONS_H_
#define FERRY_SERVER_HTTP_HTTP_CONNECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

struct MHD_Connection;

namespace ferry {

class HttpConnections {
 public:
  // REQUIRES: max_open >= 1.
  explicit HttpConnections(size_t max_open) : max_open_(max_open) {}

  // A connection was taken; shuts another one where that is one too many.
  void Opened(MHD_Connection& connection);
  // It has sent a whole head.
  void Asked(MHD_Connection& connection);
  // It is about to be freed.
  void Closed(MHD_Connection& connection);

 private:
  struct Open {
    MHD_Connection* connection;
    std::string peer;
  };

  std::vector<Open>::iterator Find(const MHD_Connection& connection);
  // Shuts the oldest of the peer that has the most, or of those that do.
  void ShutOne();

  const size_t max_open_;
  std::vector<Open> by_last_request_;  // the oldest first
};

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_HTTP_CONNECTIONS_H_
