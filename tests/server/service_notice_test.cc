// Tests what systemd is told, by a socket that takes its place.
#include "server/service_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/models/temp_folder.h"
#include "tests/server/logged_text.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

// A socket that receives datagrams at an address.
class Receiver {
 public:
  explicit Receiver(std::string address) {
    if (address[0] == '@') {
      address[0] = '\0';
    }
    sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = {}};
    std::copy(address.begin(), address.end(), at.sun_path);
    is_bound_ = bind(fd_, reinterpret_cast<const sockaddr*>(&at),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                            address.size())) == 0;
  }
  ~Receiver() { close(fd_); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  bool is_bound() const { return is_bound_; }

  // Returns the next message that has come; "" without one.
  std::string Next() {
    char text[1024];
    const ssize_t size = recv(fd_, text, sizeof(text), MSG_DONTWAIT);
    return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
  }

 private:
  const int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool is_bound_ = false;
};

TEST(ServiceNoticeTest, TellsOfAServerThatServesAndStops) {
  const TempFolder folder;
  for (const std::string& address :
       {folder.path("notify"), absl::StrCat("@ferry-notice-", getpid())}) {
    Receiver systemd(address);
    ASSERT_TRUE(systemd.is_bound()) << address;
    ServiceNotice notice(address.c_str());
    EXPECT_EQ(systemd.Next(), "");
    notice.Serves("ready");
    EXPECT_EQ(systemd.Next(), "READY=1\nWATCHDOG=1\nSTATUS=ready");
    notice.Stops("drains signal=TERM");
    EXPECT_EQ(systemd.Next(), "STOPPING=1\nSTATUS=drains signal=TERM");
    EXPECT_EQ(systemd.Next(), "");
  }
}

TEST(ServiceNoticeTest, AStatusIsOneLine) {
  const TempFolder folder;
  Receiver systemd(folder.path("notify"));
  ServiceNotice notice(folder.path("notify").c_str());
  notice.Stops("cannot go on:\nREADY=1");
  EXPECT_EQ(systemd.Next(), "STOPPING=1\nSTATUS=cannot go on:\\x0aREADY=1");
}

TEST(ServiceNoticeTest, TellsNothingWithoutAnAddress) {
  LoggedText log;
  for (const char* const address : {static_cast<const char*>(nullptr), ""}) {
    ServiceNotice notice(address);
    notice.Serves("ready");
    EXPECT_EQ(log.Take(), "");
  }
}

TEST(ServiceNoticeTest, AnAddressThatIsWrongIsLogged) {
  LoggedText log;
  for (const std::string& address :
       {std::string("notify"), std::string("/"), std::string("vsock:2:1"),
        "/" + std::string(sizeof(sockaddr_un::sun_path), 'x')}) {
    ServiceNotice notice(address.c_str());
    EXPECT_THAT(log.Take(), HasSubstr("got '" + address.substr(0, 20)));
    notice.Serves("ready");
    EXPECT_EQ(log.Take(), "");
  }
}

TEST(ServiceNoticeTest, ASystemdThatIsNotThereIsLoggedOnceAndFoundLater) {
  const TempFolder folder;
  LoggedText log;
  ServiceNotice notice(folder.path("notify").c_str());
  notice.Serves("ready");
  EXPECT_THAT(log.Take(), HasSubstr("cannot tell systemd that 'READY=1': "));
  notice.Serves("ready");
  EXPECT_EQ(log.Take(), "");
  Receiver systemd(folder.path("notify"));
  notice.Serves("ready");
  EXPECT_EQ(systemd.Next(), "READY=1\nWATCHDOG=1\nSTATUS=ready");
}

TEST(ServiceNoticeTest, ASystemdThatDoesNotReadHoldsItUpForAMomentOnly) {
  const TempFolder folder;
  LoggedText log;
  Receiver systemd(folder.path("notify"));
  ServiceNotice notice(folder.path("notify").c_str());
  std::string logged;
  for (int i = 0; i < 10'000 && logged.empty(); ++i) {
    notice.Serves("ready");  // until the socket's queue is full
    logged = log.Take();
  }
  EXPECT_THAT(logged, HasSubstr("cannot tell systemd"));
}

}  // namespace
}  // namespace ferry
