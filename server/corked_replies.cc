// The sendmsg() that this executable and its shared libraries call.
#include "server/corked_replies.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "batcher/check.h"
#include "batcher/clock.h"
#include "server/cork.h"

namespace ferry {
namespace {

using Sendmsg = ssize_t(int, const msghdr*, int);

constinit thread_local Cork cork;
constinit thread_local uint64_t held_in_burst = 0;

// Setting TCP_NODELAY, which gRPC's sockets have, sends what MSG_MORE holds
// (tcp(7)). Should gRPC have closed this one, which sends that too, it does no
// harm to whoever has its number now.
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

Sendmsg* Libcs() {
  static Sendmsg* const libcs = [] {
    void* const found = dlsym(RTLD_NEXT, "sendmsg");
    Check(found != nullptr, "libc has a sendmsg()");
    return reinterpret_cast<Sendmsg*>(found);
  }();
  return libcs;
}

}  // namespace

void CorkedReplies::Begin() { cork.Begin(); }

void CorkedReplies::Passed(TimePoint now) { cork.Passed(now, Push); }

void CorkedReplies::End() {
  if (held_in_burst > 0) {  // before clients see the rest of it
    held_count_.fetch_add(held_in_burst, std::memory_order_relaxed);
    held_in_burst = 0;
  }
  cork.End(Push);
}

}  // namespace ferry

// Instead of libc's, also for shared libraries: an executable's comes first.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  // One with an address is a datagram, which nothing would push.
  if (!ferry::cork.is_on() || message->msg_name != nullptr) {
    return ferry::Libcs()(socket, message, flags);
  }
  const bool is_held =
      ferry::cork.Holds(socket, ferry::BytesOf(*message),
                        ferry::Clock::Steady().Now(), ferry::Push);
  const ssize_t sent =
      ferry::Libcs()(socket, message, is_held ? flags | MSG_MORE : flags);
  if (is_held && sent > 0) {
    ++ferry::held_in_burst;
  }
  return sent;
}
