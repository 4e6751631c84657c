// Tests what ReadyProbe tells of servers that answer, refuse, and hang.
#include "deploy/launch/ready_probe.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace ferry::launch {
namespace {

using To = ReadyChange::To;

constexpr Duration kNoLimit{0};
constexpr int kPatienceMs = 60'000;

// Answers on a port of its own until it is to hang.
class Health {
 public:
  Health() {
    server_.Get("/v2/health/live",
                [this](const httplib::Request&, httplib::Response& reply) {
                  reply.status = live_status_;
                });
    server_.Get("/v2/health/ready",
                [this](const httplib::Request&, httplib::Response& reply) {
                  if (hangs_) {
                    end_.WaitForNotification();
                  }
                  reply.status = status_;
                });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) {
      std::this_thread::yield();
    }
  }
  ~Health() {
    end_.Notify();
    server_.stop();
    thread_.join();
  }

  HttpAddress address() const { return {"127.0.0.1", port_}; }
  void Hang() { hangs_ = true; }
  void SetStatus(int status) { status_ = status; }
  void SetLiveStatus(int status) { live_status_ = status; }

 private:
  httplib::Server server_;
  absl::Notification end_;
  std::atomic<bool> hangs_{false};
  std::atomic<int> status_{200};
  std::atomic<int> live_status_{200};
  int port_ = 0;
  std::thread thread_;
};

// Takes connections and never answers.
class SilentPort {
 public:
  SilentPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(socket_, /*backlog=*/64);
  }
  ~SilentPort() { close(socket_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  HttpAddress address() const {
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return {"127.0.0.1", ntohs(address.sin_port)};
  }

 private:
  const int socket_;
};

// Waits for the next change of that server, and forgets others'.
To NextOf(ReadyProbe& probe, size_t server) {
  for (;;) {
    pollfd file = {probe.event_fd(), POLLIN, 0};
    if (poll(&file, 1, kPatienceMs) != 1) {
      ADD_FAILURE() << "nothing of server " << server;
      return To::kNotReady;
    }
    for (const ReadyChange& change : probe.TakeChanges()) {
      if (change.server == server) {
        return change.to;
      }
    }
  }
}

TEST(SilenceTest, CountsFromTheFirstQuestionThatWasMissed) {
  const auto at = [](double seconds) {
    return TimePoint(Milliseconds(seconds * 1000));
  };
  Silence silence(Milliseconds(3200));
  // A quarter of a second passes between two questions, which counts, too.
  EXPECT_FALSE(silence.Missed(at(10), at(11)));
  EXPECT_FALSE(silence.Missed(at(11.25), at(12.25)));
  EXPECT_TRUE(silence.Missed(at(12.5), at(13.5)));
  EXPECT_FALSE(silence.Missed(at(13.75), at(14.75))) << "told once";
  silence.Answered();
  EXPECT_FALSE(silence.Missed(at(20), at(22.9)));
  EXPECT_TRUE(silence.Missed(at(23), at(24)));
  silence.Answered();
  // Launcher and server were stopped together, for as long as one question.
  EXPECT_FALSE(silence.Missed(at(30), at(90)));
  EXPECT_TRUE(silence.Missed(at(90), at(91)));
  Silence never(Milliseconds(0));
  EXPECT_FALSE(never.Missed(at(0), at(1000)));
}

TEST(ReadyProbeTest, AnswersThatChangeAreTold) {
  Health health;
  ReadyProbe probe({health.address()}, kNoLimit);
  probe.Watch(0);
  EXPECT_EQ(NextOf(probe, 0), To::kReady);
  health.SetStatus(503);
  EXPECT_EQ(NextOf(probe, 0), To::kNotReady);
}

TEST(ReadyProbeTest, ServerThatNoLongerAnswersHangs) {
  Health health;
  ReadyProbe probe({health.address()}, 2 * ReadyProbe::kTimeout);
  probe.Watch(0);
  EXPECT_EQ(NextOf(probe, 0), To::kReady);
  health.Hang();
  EXPECT_EQ(NextOf(probe, 0), To::kNotReady);
  EXPECT_EQ(NextOf(probe, 0), To::kHung);
  probe.Watch(0);  // its next process, which has not answered yet
  pollfd file = {probe.event_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&file, 1, 0), 0);
}

TEST(ReadyProbeTest, ServerThatIsNotLiveHangsThoughItAnswers) {
  Health health;
  ReadyProbe probe({health.address()}, ReadyProbe::kTimeout);
  probe.Watch(0);
  EXPECT_EQ(NextOf(probe, 0), To::kReady);
  health.SetStatus(503);
  EXPECT_EQ(NextOf(probe, 0), To::kNotReady);
  pollfd file = {probe.event_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&file, 1, 2000), 0) << "it is live";
  health.SetLiveStatus(503);
  EXPECT_EQ(NextOf(probe, 0), To::kHung);
}

TEST(ReadyProbeTest, HungServersDelayNoOther) {
  const std::vector<SilentPort> hung(100);
  std::vector<HttpAddress> addresses;
  for (const SilentPort& port : hung) {
    addresses.push_back(port.address());
  }
  Health health;
  addresses.push_back(health.address());
  ReadyProbe probe(addresses, kNoLimit);
  for (size_t i = 0; i < addresses.size(); ++i) {
    probe.Watch(i);
  }
  // One after the other, a round would take 100 s.
  EXPECT_EQ(NextOf(probe, 100), To::kReady);
  health.SetStatus(503);
  EXPECT_EQ(NextOf(probe, 100), To::kNotReady);
}

}  // namespace
}  // namespace ferry::launch
