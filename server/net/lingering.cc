// Implements Lingering: duplicates of descriptors, with a time each.
#include "server/net/lingering.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace ferry {
namespace {

// What a client may still send unread, of a connection that is kept, and how
// often a look reads as much.
constexpr int kReceiveBytes = 4'096;
constexpr int kMostReads = 16;

// Whether the client has closed its side, or the connection is broken.
bool HasEnded(ssize_t received) {
  return received == 0 ||
         (received < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

// Reads what has come, not for ever where more comes meanwhile. Returns whether
// the connection is over.
bool Discard(int fd) {
  char bytes[kReceiveBytes];
  ssize_t received = 1;
  for (int i = 0; i < kMostReads && received > 0; ++i) {
    received = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  }
  return HasEnded(received);
}

}  // namespace

bool Lingering::Keep(int fd, TimePoint now) {
  char byte;
  if (HasEnded(recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT))) {
    return false;
  }
  MutexLock lock(mutex_);
  const int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (kept < 0 || kept >= first_reserved_) {
    close(kept);
    return false;
  }
  if (sockets_.size() >= kMostConnections) {
    close(sockets_.front().fd);
    sockets_.pop_front();
  }
  setsockopt(kept, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes,
             sizeof(kReceiveBytes));
  // The program's own shutdown() is what calls this.
  syscall(SYS_shutdown, kept, SHUT_WR);
  sockets_.push_back({.fd = kept, .until = now + kMost});
  return true;
}

void Lingering::Look(TimePoint now) {
  MutexLock lock(mutex_);
  const auto is_over = [now](const Socket& socket) {
    if (!Discard(socket.fd) && now < socket.until) {
      return false;
    }
    close(socket.fd);
    return true;
  };
  sockets_.erase(std::remove_if(sockets_.begin(), sockets_.end(), is_over),
                 sockets_.end());
}

size_t Lingering::size() const {
  MutexLock lock(mutex_);
  return sockets_.size();
}

}  // namespace ferry
