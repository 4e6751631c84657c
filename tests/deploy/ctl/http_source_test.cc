// Tests which addresses, tokens and certificates of a server are taken.
#include "deploy/ctl/http_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace ferry::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Write(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::string Refusal(const std::string& address, const HttpFiles& files = {}) {
  return std::string(
      MakeHttpSource("--from", address, files).status().message());
}

TEST(HttpSourceTest, AddressesAreHostAndPortOrUrls) {
  const auto plain = MakeHttpSource("--from", "127.0.0.1:8002", {});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->url(), "http://127.0.0.1:8002");
  const auto url =
      MakeHttpSource("--from", "https://[::1]:443/prometheus/", {});
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->server, "https://[::1]:443");
  EXPECT_EQ(url->path, "/prometheus");
}

TEST(HttpSourceTest, WrongAddressesAreRefused) {
  for (const char* wrong :
       {"", "http://", "ftp://a", "a b", "a?b", "a#b", "a\nb", "https:///x"}) {
    EXPECT_THAT(Refusal(wrong),
                HasSubstr("--from: expected host:port, or a URL of http"))
        << wrong;
  }
  const std::string with_user = Refusal("http://me:secret@host");
  EXPECT_THAT(with_user, HasSubstr("--token-file"));
  EXPECT_THAT(with_user, Not(HasSubstr("secret")));
}

TEST(HttpSourceTest, TheTokenIsTheWordOfItsFile) {
  const auto source = MakeHttpSource(
      "--from", "host:1", {.token = Write("token", "abc-DEF_123\n"), .ca = {}});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->token, "abc-DEF_123");
  for (const char* wrong : {"", "\n", "sec ret", "sec\r\nret", "sec\x01ret"}) {
    const std::string refusal =
        Refusal("host:1", {.token = Write("wrong", wrong), .ca = {}});
    EXPECT_THAT(refusal, HasSubstr("expected one token of printable"));
    EXPECT_THAT(refusal, Not(HasSubstr("sec")));
  }
}

TEST(HttpSourceTest, FilesThatAreNotThereAreTold) {
  EXPECT_THAT(Refusal("host:1", {.token = "/no/token", .ca = {}}),
              HasSubstr("cannot read /no/token"));
  EXPECT_THAT(Refusal("host:1", {.token = {}, .ca = "/no/ca"}),
              HasSubstr("cannot read /no/ca"));
}

}  // namespace
}  // namespace ferry::ctl
