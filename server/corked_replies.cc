// The sendmsg() that all of this process calls.
#include "server/corked_replies.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/cork.h"

namespace ferry {
namespace {

using Sendmsg = ssize_t(int, const msghdr*, int);

constinit thread_local Cork cork;
constinit thread_local uint64_t held_in_burst = 0;

// Setting TCP_NODELAY, which gRPC's sockets have, sends what MSG_MORE holds
// (tcp(7)). Another's socket, should gRPC have closed this one: no harm.
void Push(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

size_t BytesOf(const msghdr& message) {
  size_t bytes = 0;
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    bytes += message.msg_iov[i].iov_len;
  }
  return bytes;
}

// The one of libc, or of a sanitizer before it.
Sendmsg* NextSendmsg() {
  static Sendmsg* const next =
      reinterpret_cast<Sendmsg*>(dlsym(RTLD_NEXT, "sendmsg"));
  return next;
}

}  // namespace

void CorkedReplies::Begin() { cork.Begin(); }

void CorkedReplies::End() {
  cork.End(Push);
  if (held_in_burst > 0) {
    held_count_.fetch_add(held_in_burst, std::memory_order_relaxed);
    held_in_burst = 0;
  }
}

}  // namespace ferry

// Instead of libc's, also for shared libraries: an executable's comes first.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (ferry::cork.is_on() &&
      ferry::cork.Holds(socket, ferry::BytesOf(*message), ferry::Push)) {
    ++ferry::held_in_burst;
    flags |= MSG_MORE;
  }
  return ferry::NextSendmsg()(socket, message, flags);
}
