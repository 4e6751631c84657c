// Implements HttpConnections: a short list, moved along.
#include "server/http/http_connections.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>

namespace ferry {
namespace {

// The daemon finds its end at once, and closes it.
void Shut(MHD_Connection& connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(&connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info != nullptr) {
    shutdown(info->connect_fd, SHUT_RDWR);
  }
}

}  // namespace

void HttpConnections::Opened(MHD_Connection& connection) {
  by_last_request_.push_back(&connection);
  if (by_last_request_.size() > max_open_) {
    Shut(*by_last_request_.front());
    by_last_request_.erase(by_last_request_.begin());
  }
}

void HttpConnections::Asked(MHD_Connection& connection) {
  const auto found =
      std::find(by_last_request_.begin(), by_last_request_.end(), &connection);
  if (found != by_last_request_.end()) {  // it may have been shut meanwhile
    std::rotate(found, found + 1, by_last_request_.end());
  }
}

void HttpConnections::Closed(MHD_Connection& connection) {
  const auto found =
      std::find(by_last_request_.begin(), by_last_request_.end(), &connection);
  if (found != by_last_request_.end()) {
    by_last_request_.erase(found);
  }
}

}  // namespace ferry
