// Acceptor takes the connections of a port on a thread of its own, and goes on
// when files are short, where gRPC's own would never accept again.
//
// It is *blind* from the first connection that it cannot take until there is
// room for one more. Meanwhile a client is refused at once, and goes elsewhere,
// unless not even that is possible: then it waits in the system's backlog.
//
// Thread safety: created, stopped and destroyed by one thread; the handlers are
// called on the acceptor's own; the counts are told to any.
// Errors: UNAVAILABLE where the sockets cannot be listened on.
#ifndef FERRY_SERVER_NET_ACCEPTOR_H_
#define FERRY_SERVER_NET_ACCEPTOR_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/joinable_thread.h"
#include "server/net/listen_sockets.h"

namespace ferry {

class Acceptor {
 public:
  struct Handlers {
    // Takes over a connection, nonblocking, that came to that socket; false: it
    // is one too many, and is closed at once.
    std::function<bool(int listen_fd, int fd)> take;
    // Hears that the acceptor is blind, or is not any more.
    std::function<void(bool is_blind)> tell;
    // Is called after each turn.
    std::function<void()> turned;
  };

  // Its thread turns at least once in that time.
  static constexpr Duration kTurn = std::chrono::seconds(1);

  // Connections have descriptors below `first_reserved`.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Start(ListenSockets sockets,
                                                         Handlers handlers,
                                                         int first_reserved);

  ~Acceptor() { StopBy(kNever); }

  struct Counts {
    uint64_t accepted = 0;
    uint64_t not_taken = 0;  // closed at once, as `take` wanted
    uint64_t no_file = 0;    // closed at once, for want of files
    uint64_t failures = 0;   // times that none could be accepted
  };

  // Since the start. Any thread.
  Counts counts() const;

  // Returns when its thread last turned. Any thread.
  TimePoint turned() const { return turned_.load(std::memory_order_relaxed); }

  // The name of its sockets, which a port of the same number shares. Any
  // thread.
  const std::string& name() const { return name_; }

  // Connections to sockets of that name that are open, wherever they are. Any
  // thread; looks at each descriptor of the process.
  size_t CountConnections() const;

  // Tells its thread to end after the turn that it is in.
  void BeginStop();

  // Tells it so, gives the port back and calls no handler any more. Returns
  // false where the thread has not ended by then, as where a handler hangs:
  // then the port is still taken.
  bool StopBy(TimePoint until);

  // Shuts the connections to the port that are still open, wherever they are,
  // as the end of the process would. REQUIRES: StopBy() was called.
  void ShutConnections() const;

 private:
  Acceptor(ListenSockets sockets, Handlers handlers, int first_reserved,
           int stop_fd);

  void Run();
  // Accepts what waits at the socket, but gives others their turn.
  void AcceptSome(int listen_fd);
  void BecomeBlind(const std::string& why);
  bool HasRoom() const;
  void SeeAgain();

  ListenSockets sockets_;
  const Handlers handlers_;
  const int first_reserved_;
  const std::string name_;  // of its sockets, those accepted too
  int stop_fd_;             // readable once it stops; -1: it has

  // The thread only.
  bool is_blind_ = false;
  bool is_paused_ = false;       // blind, and nothing can be accepted
  TimePoint blind_until_;        // at least
  uint64_t no_file_before_ = 0;  // it was blind

  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> not_taken_{0};
  std::atomic<uint64_t> no_file_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<TimePoint> turned_{Clock::Steady().Now()};

  JoinableThread thread_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_NET_ACCEPTOR_H_
