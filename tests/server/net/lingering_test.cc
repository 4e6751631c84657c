// Tests that clients read what was sent last, on connections of loopback.
#include "server/net/lingering.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "server/net/frame_fence.h"
#include "server/net/listen_sockets.h"
#include "server/net/open_files.h"
#include "tests/server/net/loopback_client.h"

namespace ferry {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};
constexpr char kAnswer[] = "the answer";

class LingeringTest : public testing::Test {
 protected:
  void SetUp() override {
    auto sockets = ListenSockets::Bind("127.0.0.1", 0);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    ASSERT_TRUE(sockets->Listen().ok());
    client_.Connect(sockets->port());
    while (fd_ < 0) {  // the socket does not block
      fd_ = accept(sockets->fds().front(), nullptr, nullptr);
    }
  }

  // The client sends what the server will not have read.
  void SendUnread() {
    ASSERT_EQ(send(client_.fd(), "window", 6, 0), 6);
    char byte;
    ASSERT_EQ(recv(fd_, &byte, 1, MSG_PEEK), 1);  // it has come
  }

  void Answer() {
    ASSERT_EQ(send(fd_, kAnswer, sizeof(kAnswer), 0),
              static_cast<ssize_t>(sizeof(kAnswer)));
  }

  // Returns what the client reads, and how that ends.
  std::string ReadAll() {
    std::string text;
    char bytes[64];
    ssize_t size = 0;
    while ((size = recv(client_.fd(), bytes, sizeof(bytes), 0)) > 0) {
      text.append(bytes, static_cast<size_t>(size));
    }
    return text.c_str() + std::string(size == 0             ? ", end"
                                      : errno == ECONNRESET ? ", reset"
                                                            : ", error");
  }

  LoopbackClient client_;
  int fd_ = -1;
  Lingering lingering_{1 << 20};
};

TEST_F(LingeringTest, WithoutItAConnectionIsReset) {
  SendUnread();
  Answer();
  close(fd_);
  EXPECT_EQ(ReadAll(), "the answer, reset");
}

TEST_F(LingeringTest, ClientReadsTheAnswerAndTheEnd) {
  SendUnread();
  Answer();
  ASSERT_TRUE(lingering_.Keep(fd_, kNow));
  close(fd_);
  EXPECT_EQ(ReadAll(), "the answer, end");
  for (int i = 0; i < 3; ++i) {  // a reset would be seen by the next
    EXPECT_EQ(send(client_.fd(), "more", 4, MSG_NOSIGNAL), 4);
    lingering_.Look(kNow);
  }
  EXPECT_EQ(lingering_.size(), 1u);
}

TEST_F(LingeringTest, IsOverOnceTheClientCloses) {
  ASSERT_TRUE(lingering_.Keep(fd_, kNow));
  lingering_.Look(kNow);
  EXPECT_EQ(lingering_.size(), 1u);
  SendUnread();
  ASSERT_EQ(shutdown(client_.fd(), SHUT_WR), 0);
  lingering_.Look(kNow);
  EXPECT_EQ(lingering_.size(), 0u);
  close(fd_);
}

TEST_F(LingeringTest, IsOverAfterAWhile) {
  ASSERT_TRUE(lingering_.Keep(fd_, kNow));
  close(fd_);
  lingering_.Look(kNow + Lingering::kMost - Duration(1));
  EXPECT_EQ(lingering_.size(), 1u);
  lingering_.Look(kNow + Lingering::kMost);
  EXPECT_EQ(lingering_.size(), 0u);
}

TEST_F(LingeringTest, OneWhoseClientHasGoneIsNotKept) {
  ASSERT_EQ(shutdown(client_.fd(), SHUT_WR), 0);
  char byte;
  ASSERT_EQ(recv(fd_, &byte, 1, 0), 0);
  EXPECT_FALSE(lingering_.Keep(fd_, kNow));
  EXPECT_EQ(lingering_.size(), 0u);
  close(fd_);
}

TEST_F(LingeringTest, TheOldestGoesWhereThereAreTooMany) {
  RaiseOpenFileLimit();
  for (size_t i = 0; i < Lingering::kMostConnections + 2; ++i) {
    const bool is_old = i < 3;
    ASSERT_TRUE(lingering_.Keep(fd_, is_old ? kNow : kNow + Duration(1))) << i;
  }
  EXPECT_EQ(lingering_.size(), Lingering::kMostConnections);
  lingering_.Look(kNow + Lingering::kMost);
  EXPECT_EQ(lingering_.size(), Lingering::kMostConnections - 1);
  lingering_.Look(kNow + Lingering::kMost + Duration(1));
  close(fd_);
}

TEST_F(LingeringTest, TakesNoReservedDescriptor) {
  Lingering lingering(0);
  EXPECT_FALSE(lingering.Keep(fd_, kNow));
  EXPECT_EQ(lingering.size(), 0u);
  Answer();  // it is as it was
  close(fd_);
  EXPECT_EQ(ReadAll(), "the answer, end");
}

TEST_F(LingeringTest, ALookEndsWhereMoreAndMoreComes) {
  ASSERT_TRUE(lingering_.Keep(fd_, kNow));
  close(fd_);
  std::atomic<bool> is_over{false};
  std::thread sender([&] {
    const std::string bytes(1 << 16, 'x');
    while (!is_over && send(client_.fd(), bytes.data(), bytes.size(),
                            MSG_NOSIGNAL | MSG_DONTWAIT) != 0) {
    }
  });
  for (int i = 0; i < 100; ++i) {
    lingering_.Look(kNow);
  }
  EXPECT_EQ(lingering_.size(), 1u);
  lingering_.Look(kNow + Lingering::kMost);
  EXPECT_EQ(lingering_.size(), 0u);
  is_over = true;
  sender.join();
}

TEST_F(LingeringTest, ConnectionsThatGrpcClosesLinger) {
  ASSERT_TRUE(FenceConnection(fd_, "one", Frames::kInTls, {}));
  SendUnread();
  Answer();
  shutdown(fd_, SHUT_RDWR);
  close(fd_);
  EXPECT_EQ(ReadAll(), "the answer, end");
  const TimePoint now = Clock::Steady().Now();
  EXPECT_TRUE(LookAtClosedConnections(now));
  EXPECT_FALSE(LookAtClosedConnections(now + Lingering::kMost));
}

TEST_F(LingeringTest, AConnectionThatIsEndedForAFloodDoesNot) {
  ASSERT_TRUE(FenceConnection(fd_, "one", Frames::kPlain, {}));
  std::string flood(24, 'p');  // the preface is not looked at
  for (int i = 0; i < 2'300; ++i) {
    flood += std::string("\0\0\x8\x6\0\0\0\0\0", 9) + "ping of8";
  }
  ASSERT_EQ(send(client_.fd(), flood.data(), flood.size(), 0),
            static_cast<ssize_t>(flood.size()));
  ssize_t size = 1;
  while (size > 0) {
    char bytes[0x4000];
    iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    size = recvmsg(fd_, &message, 0);
  }
  ASSERT_EQ(size, 0);  // as the fence has it; the client has not closed it
  shutdown(fd_, SHUT_RDWR);
  close(fd_);
  EXPECT_FALSE(LookAtClosedConnections(Clock::Steady().Now()));
}

}  // namespace
}  // namespace ferry
