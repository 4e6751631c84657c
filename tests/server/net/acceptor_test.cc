// Tests Acceptor where files are short.
#include "server/net/acceptor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/net/open_files.h"
#include "tests/server/net/loopback_client.h"
#include "tests/support/files_left.h"

namespace ferry {
namespace {

// An acceptor that keeps what it takes, and what it tells.
class Door {
 public:
  explicit Door(int first_reserved) {
    auto sockets = ListenSockets::Bind("127.0.0.1", 0);
    EXPECT_TRUE(sockets.ok()) << sockets.status();
    port_ = sockets->port();
    auto acceptor =
        Acceptor::Start(*std::move(sockets),
                        {.take = [this](int, int fd) { return Take(fd); },
                         .tell = [this](bool is_blind) { Tell(is_blind); },
                         .turned = [this] { Turned(); }},
                        first_reserved);
    EXPECT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }
  ~Door() {
    acceptor_.reset();
    CloseAll();
  }

  int port() const { return port_; }
  Acceptor& acceptor() { return *acceptor_; }

  void WaitForConnections(size_t count) {
    MutexLock lock(mutex_);
    while (fds_.size() < count) {
      changed_.Wait(mutex_);
    }
  }

  // Takes no more than that from now on.
  void TakeAtMost(size_t connections) {
    MutexLock lock(mutex_);
    most_ = connections;
  }

  // Has its thread wait where it takes a connection, or go on.
  void Hold(bool holds) {
    MutexLock lock(mutex_);
    holds_ = holds;
    changed_.SignalAll();
  }

  void WaitUntilHeld() {
    MutexLock lock(mutex_);
    while (!is_held_) {
      changed_.Wait(mutex_);
    }
  }

  void WaitUntilBlind(bool is_blind) {
    MutexLock lock(mutex_);
    while (is_blind_ != is_blind) {
      changed_.Wait(mutex_);
    }
  }

  // Returns after that many turns more.
  void WaitForTurns(int count) {
    MutexLock lock(mutex_);
    for (const int from = turns_; turns_ < from + count;) {
      changed_.Wait(mutex_);
    }
  }

  void CloseAll() {
    MutexLock lock(mutex_);
    for (const int fd : std::exchange(fds_, {})) {
      close(fd);
    }
  }

 private:
  bool Take(int fd) {
    MutexLock lock(mutex_);
    while (holds_) {
      is_held_ = true;
      changed_.SignalAll();
      changed_.Wait(mutex_);
    }
    if (fds_.size() >= most_) {
      return false;
    }
    fds_.push_back(fd);
    changed_.SignalAll();
    return true;
  }

  void Tell(bool is_blind) {
    MutexLock lock(mutex_);
    is_blind_ = is_blind;
    changed_.SignalAll();
  }

  void Turned() {
    MutexLock lock(mutex_);
    ++turns_;
    changed_.SignalAll();
  }

  Mutex mutex_;
  CondVar changed_;
  int turns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<int> fds_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) = SIZE_MAX;
  bool is_blind_ ABSL_GUARDED_BY(mutex_) = false;
  bool holds_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_held_ ABSL_GUARDED_BY(mutex_) = false;
  int port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST(AcceptorTest, ConnectionPastTheirShareIsRefusedUntilOthersEnd) {
  const int reserved_files = 40;  // for the clients of this test, too
  Door door(NextFile() + reserved_files);
  std::deque<LoopbackClient> clients;
  for (int i = 0; i < 2 * reserved_files; ++i) {
    clients.emplace_back(door.port(), AF_INET);
    EXPECT_EQ(clients.back().error(), 0);
  }
  door.WaitUntilBlind(true);
  EXPECT_TRUE(clients.back().IsEnded());
  while (door.acceptor().counts().no_file == 0) {  // it is told, then counted
  }
  EXPECT_EQ(door.acceptor().counts().not_taken, 0U);
  EXPECT_EQ(door.acceptor().counts().failures, 0U);
  // One that is being refused is open until it is closed.
  while (door.acceptor().CountConnections() !=
         door.acceptor().counts().accepted) {
  }
  clients.clear();
  door.CloseAll();
  door.WaitUntilBlind(false);
  const LoopbackClient next(door.port(), AF_INET);
  door.WaitForConnections(1);
}

TEST(AcceptorTest, ConnectionThatFindsNoFileIsTakenOnceThereIsOne) {
  Door door(INT_MAX);
  const LoopbackClient first(door.port(), AF_INET);
  door.WaitForConnections(1);
  LoopbackClient second;
  {
    const FilesLeft none(0);
    second.Connect(door.port());
    EXPECT_EQ(second.error(), 0);  // in the backlog
    door.WaitUntilBlind(true);
  }
  EXPECT_GT(door.acceptor().counts().failures, 0U);
  door.WaitForConnections(2);
  door.WaitUntilBlind(false);
}

TEST(AcceptorTest, ConnectionThatIsNotTakenIsClosedAndCounted) {
  Door door(INT_MAX);
  door.TakeAtMost(1);
  const LoopbackClient first(door.port(), AF_INET);
  door.WaitForConnections(1);
  const LoopbackClient second(door.port(), AF_INET);
  EXPECT_TRUE(second.IsEnded());
  while (door.acceptor().counts().not_taken == 0) {  // closed, then counted
  }
  EXPECT_EQ(door.acceptor().counts().accepted, 1U);
  EXPECT_EQ(door.acceptor().counts().no_file, 0U);
  EXPECT_FALSE(first.IsEndedNow());
}

TEST(AcceptorTest, TurnsAlsoWhereNothingComes) {
  Door door(INT_MAX);
  const TimePoint before = door.acceptor().turned();
  door.WaitForTurns(2);
  EXPECT_GT(door.acceptor().turned(), before);
}

TEST(AcceptorTest, StoppedItGivesThePortBackAndLeavesConnectionsOpen) {
  Door door(INT_MAX);
  const LoopbackClient client(door.port(), AF_INET);
  door.WaitForConnections(1);
  EXPECT_TRUE(door.acceptor().StopBy(kNever));
  EXPECT_EQ(LoopbackClient(door.port(), AF_INET).error(), ECONNREFUSED);
  EXPECT_TRUE(ListenSockets::Bind("127.0.0.1", door.port()).ok());
  EXPECT_FALSE(client.IsEndedNow());
}

TEST(AcceptorTest, HandlerThatHangsHoldsUpNoStopThatHasATime) {
  Door door(INT_MAX);
  door.Hold(true);
  const LoopbackClient client(door.port(), AF_INET);
  door.WaitUntilHeld();
  EXPECT_FALSE(door.acceptor().StopBy(Clock::Steady().Now()));
  door.Hold(false);
  EXPECT_TRUE(door.acceptor().StopBy(kNever));
  EXPECT_TRUE(door.acceptor().StopBy(kNever));
  EXPECT_EQ(LoopbackClient(door.port(), AF_INET).error(), ECONNREFUSED);
}

TEST(AcceptorTest, ConnectionsAreShutWhereverTheyAre) {
  Door door(INT_MAX);
  Door other(INT_MAX);
  const LoopbackClient client(door.port(), AF_INET);
  const LoopbackClient neighbour(other.port(), AF_INET);
  door.WaitForConnections(1);
  other.WaitForConnections(1);
  for (Door* one : {&door, &other}) {
    while (one->acceptor().counts().accepted == 0) {  // taken, then counted
    }
    EXPECT_EQ(one->acceptor().counts().accepted, 1U);
    EXPECT_EQ(one->acceptor().CountConnections(), 1U);
  }
  EXPECT_TRUE(door.acceptor().StopBy(kNever));
  door.acceptor().ShutConnections();
  EXPECT_TRUE(client.IsEnded());
  EXPECT_FALSE(neighbour.IsEndedNow());
}

TEST(OpenFilesTest, SomeAreKeptForOthersThanClients) {
  EXPECT_EQ(FirstReservedFile(64), 48);
  EXPECT_EQ(FirstFileReservedFromAdmin(64), 52);
  EXPECT_EQ(FirstReservedFile(1024), 960);
  EXPECT_EQ(FirstFileReservedFromAdmin(1024), 976);
}

TEST(OpenFilesTest, LimitIsRaisedToWhatTheProcessMayHave) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(OpenFileLimit(), 256);
  RaiseOpenFileLimit();
  EXPECT_GE(OpenFileLimit(),
            static_cast<int>(std::min<rlim_t>(before.rlim_max, 1024)));
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace ferry
