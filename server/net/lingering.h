// Lingering keeps connections that the server closes until their clients have
// read what was sent last.
//
// A socket that is closed while bytes in it are unread is reset, and what its
// client has not read yet is lost (RFC 2525, 2.17). gRPC closes a connection
// that was told to go as soon as its last call has ended, when the client's
// WINDOW_UPDATE for the answer before may have just come: the last answer, or
// its end, would be gone. So the socket only stops sending, has what comes read
// and thrown away, and is closed when its client closes it or kMost is over.
// Where there are too many, the oldest goes: its client has had the most time.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_NET_LINGERING_H_
#define FERRY_SERVER_NET_LINGERING_H_

#include <chrono>
#include <cstddef>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

class Lingering {
 public:
  static constexpr Duration kMost = std::chrono::seconds(2);
  static constexpr size_t kMostConnections = 1'024;

  // Connections are kept by descriptors below `first_reserved`.
  explicit Lingering(int first_reserved) : first_reserved_(first_reserved) {}

  // Has the socket stop sending, and keeps it by a descriptor of its own, so
  // that the caller may close its. Returns false, and leaves it as it is, where
  // its client has gone, or files are short: then the caller shuts it.
  bool Keep(int fd, TimePoint now);

  // Reads what has come, and closes those that are over. To be called twice a
  // second.
  void Look(TimePoint now);

  size_t size() const;

 private:
  struct Socket {
    int fd;
    TimePoint until;
  };

  const int first_reserved_;
  mutable Mutex mutex_;
  std::deque<Socket> sockets_ ABSL_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_LINGERING_H_
