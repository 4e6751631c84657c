// Tests that messages over a socket pair arrive whole or not at all.
#include "bench/processes/message_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <thread>

namespace ferry::bench {
namespace {

class MessageChannelTest : public ::testing::Test {
 protected:
  MessageChannelTest() {
    std::array<int, 2> ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
              0);
    one_ = std::make_unique<MessageChannel>(ends[0]);
    other_ = std::make_unique<MessageChannel>(ends[1]);
  }

  std::unique_ptr<MessageChannel> one_;
  std::unique_ptr<MessageChannel> other_;
};

TEST_F(MessageChannelTest, MessagesArriveWholeAndInOrder) {
  const std::string large(1 << 22, 'x');  // more than a socket holds
  std::thread sender([&] {
    EXPECT_TRUE(one_->Send(large).ok());
    EXPECT_TRUE(one_->Send("").ok());
    EXPECT_TRUE(one_->Send("last").ok());
  });
  EXPECT_EQ(*other_->Receive(), large);
  EXPECT_EQ(*other_->Receive(), "");
  EXPECT_EQ(*other_->Receive(), "last");
  sender.join();
}

TEST_F(MessageChannelTest, EndOfTheOtherSideIsAnErrorAndNoSignal) {
  ASSERT_TRUE(one_->Send("before").ok());
  one_.reset();
  EXPECT_EQ(*other_->Receive(), "before");
  EXPECT_EQ(other_->Receive().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(other_->Send("after").code(), absl::StatusCode::kUnavailable);
}

TEST_F(MessageChannelTest, OneSideMayEndItsSendingAlone) {
  one_->EndSending();
  EXPECT_FALSE(other_->Receive().ok());
  ASSERT_TRUE(other_->Send("still heard").ok());
  EXPECT_EQ(*one_->Receive(), "still heard");
}

}  // namespace
}  // namespace ferry::bench
