// Implements FrameFence: the functions by which gRPC reads and writes, and a
// counter a connection.
#include "server/net/frame_fence.h"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "server/net/lingering.h"
#include "server/net/open_files.h"

namespace ferry {
namespace {

// A client may give up all calls that it has at once, and the next as well. All
// connections together have no more, beyond their shares: what comes at once
// keeps others waiting, 80 us a call.
constexpr double kResetsOfStream = 2;
constexpr double kMinResets = 1'000;

std::array<std::atomic<uint64_t>, kFrameFloodCount> ended{};

FrameTotals totals;

FrameBounds& Bounds() {
  static auto* const bounds = new FrameBounds;  // for each thread
  return *bounds;
}

// Returns whether the connection goes on.
bool MayGoOn(FrameCounter& counter, const void* data, size_t size) {
  const std::optional<FrameFlood> flood =
      counter.Read(absl::MakeConstSpan(static_cast<const uint8_t*>(data), size),
                   Clock::Steady());
  if (flood.has_value()) {
    ended[static_cast<size_t>(*flood)].fetch_add(1, std::memory_order_relaxed);
  }
  return !flood.has_value();
}

// Returns whether the connection goes on. The bytes are in the parts of the
// message.
bool MayGoOn(FrameCounter& counter, const msghdr& message, size_t size) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t bytes = std::min(part.iov_len, size);
    if (!MayGoOn(counter, part.iov_base, bytes)) {
      return false;
    }
    size -= bytes;
  }
  return true;
}

// A connection, by its descriptor.
struct Connection {
  std::atomic<bool> has_sent{false};
  Mutex mutex;
  bool is_open ABSL_GUARDED_BY(mutex) = false;
  std::optional<std::string> peer ABSL_GUARDED_BY(mutex);  // that has it
  bool is_ended ABSL_GUARDED_BY(mutex) = false;            // it floods
  // It has one where it is plain and open.
  std::optional<FrameCounter> counter ABSL_GUARDED_BY(mutex);
};

// How many connections each peer has.
class Peers {
 public:
  // Returns whether it may have one more, which it has then.
  bool Add(const std::string& peer, const ConnectionBounds& bounds) {
    MutexLock lock(mutex_);
    const bool is_of_socket = peer.empty();  // whose peer is this machine
    if ((bounds.all > 0 && all_ >= bounds.all) ||
        (bounds.of_peer > 0 && !is_of_socket &&
         CountOf(peer) >= bounds.of_peer)) {
      return false;
    }
    ++all_;
    ++by_peer_[peer];
    return true;
  }

  void Remove(const std::string& peer) {
    MutexLock lock(mutex_);
    --all_;
    const auto found = by_peer_.find(peer);
    if (--found->second == 0) {
      by_peer_.erase(found);
    }
  }

 private:
  int CountOf(const std::string& peer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? 0 : found->second;
  }

  Mutex mutex_;
  int all_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, int> by_peer_ ABSL_GUARDED_BY(mutex_);
};

class Connections {
 public:
  Connections()
      : size_(OpenFileLimit()),
        connections_(
            new std::atomic<Connection*>[static_cast<size_t>(size_)]()) {}

  bool Open(int fd, const std::string& peer, Frames frames,
            const ConnectionBounds& bounds) {
    if (fd < 0 || fd >= size_) {
      return true;
    }
    auto& slot = connections_[static_cast<size_t>(fd)];
    Connection* connection = slot.load(std::memory_order_acquire);
    if (connection == nullptr) {
      connection = new Connection;  // stays for the next with its descriptor
      slot.store(connection, std::memory_order_release);
    }
    MutexLock lock(connection->mutex);
    Close(*connection);  // where gRPC has closed it in another way
    if (bounds.has_any()) {
      if (!peers_.Add(peer, bounds)) {
        return false;
      }
      connection->peer = peer;
    }
    connection->is_open = true;
    connection->has_sent.store(false, std::memory_order_relaxed);
    if (frames == Frames::kPlain) {
      connection->counter.emplace(Bounds(), totals, Clock::Steady().Now());
    }
    return true;
  }

  // Returns whether it was open, and was not ended for what its client sent.
  bool Close(int fd) {
    Connection* const connection = Find(fd);
    if (connection == nullptr) {
      return false;
    }
    MutexLock lock(connection->mutex);
    const bool was_good = connection->is_open && !connection->is_ended;
    Close(*connection);
    return was_good;
  }

  Connection* Find(int fd) const {
    return fd >= 0 && fd < size_ ? connections_[static_cast<size_t>(fd)].load(
                                       std::memory_order_acquire)
                                 : nullptr;
  }

 private:
  void Close(Connection& connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection.mutex) {
    if (const auto peer = std::exchange(connection.peer, std::nullopt)) {
      peers_.Remove(*peer);
    }
    connection.is_open = false;
    connection.is_ended = false;
    connection.counter.reset();
  }

  const int size_;
  const std::unique_ptr<std::atomic<Connection*>[]> connections_;
  Peers peers_;
};

std::atomic<Connections*> all{nullptr};  // null: none has come yet

Lingering& Closed() {
  static auto* const closed =  // for each thread
      new Lingering(FirstReservedFile(OpenFileLimit()));
  return *closed;
}

Connection* Find(int fd) {
  const Connections* const connections = all.load(std::memory_order_acquire);
  return connections == nullptr ? nullptr : connections->Find(fd);
}

// Returns where OpenSSL keeps the counter of a connection.
int CounterIndex() {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* counter, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<FrameCounter*>(counter);
      });
  return index;
}

FrameCounter& CounterOf(SSL& connection) {
  auto* counter =
      static_cast<FrameCounter*>(SSL_get_ex_data(&connection, CounterIndex()));
  if (counter == nullptr) {
    counter = new FrameCounter(Bounds(), totals, Clock::Steady().Now());
    SSL_set_ex_data(&connection, CounterIndex(), counter);
  }
  return *counter;
}

}  // namespace

void SetStreamsOfConnection(int streams) {
  Bounds().all_resets.burst = std::clamp(kResetsOfStream * streams, kMinResets,
                                         FrameBounds().all_resets.burst);
}

bool FenceConnection(int fd, const std::string& peer, Frames frames,
                     const ConnectionBounds& bounds) {
  static auto* const connections = new Connections;  // for each thread
  all.store(connections, std::memory_order_release);
  return connections->Open(fd, peer, frames, bounds);
}

bool LookAtClosedConnections(TimePoint now) {
  Closed().Look(now);
  return Closed().size() > 0;
}

FenceCounts CountFenced() {
  FenceCounts counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = ended[i].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace ferry

extern "C" {

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t size = syscall(SYS_recvmsg, fd, message, flags);
  if (size <= 0 || (flags & MSG_ERRQUEUE) != 0) {
    return size;
  }
  ferry::Connection* const connection = ferry::Find(fd);
  if (connection == nullptr) {
    return size;
  }
  ferry::MutexLock lock(connection->mutex);
  if (connection->counter.has_value() && !connection->is_ended) {
    connection->is_ended = !ferry::MayGoOn(*connection->counter, *message,
                                           static_cast<size_t>(size));
  }
  // gRPC may ask once more before it takes a 0 for the end.
  return connection->is_ended ? 0 : size;
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  ferry::Connection* const connection = ferry::Find(fd);
  if (connection != nullptr &&
      !connection->has_sent.exchange(true, std::memory_order_relaxed)) {
    ferry::MutexLock lock(connection->mutex);
    if (connection->counter.has_value()) {
      connection->counter->Sent();
    }
  }
  return syscall(SYS_sendmsg, fd, message, flags);
}

// gRPC's last call for a connection before it closes it.
int shutdown(int fd, int how) noexcept {
  ferry::Connections* const connections =
      ferry::all.load(std::memory_order_acquire);
  if (connections != nullptr && connections->Close(fd) && how == SHUT_RDWR &&
      ferry::Closed().Keep(fd, ferry::Clock::Steady().Now())) {
    return 0;
  }
  return static_cast<int>(syscall(SYS_shutdown, fd, how));
}

int SSL_read(SSL* connection, void* data, int most) {
  using Read = int (*)(SSL*, void*, int);
  static const auto read = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "SSL_read"));
  const int size = read(connection, data, most);
  return size <= 0 || SSL_is_server(connection) == 0 ||
                 ferry::MayGoOn(ferry::CounterOf(*connection), data,
                                static_cast<size_t>(size))
             ? size
             : -1;
}

int SSL_write(SSL* connection, const void* data, int size) {
  using Write = int (*)(SSL*, const void*, int);
  static const auto write =
      reinterpret_cast<Write>(dlsym(RTLD_NEXT, "SSL_write"));
  if (SSL_is_server(connection) != 0) {
    ferry::CounterOf(*connection).Sent();
  }
  return write(connection, data, size);
}

}  // extern "C"
