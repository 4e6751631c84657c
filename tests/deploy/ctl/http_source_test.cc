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
  for (const auto& [address, url] :
       std::vector<std::pair<std::string, std::string>>{
           {"127.0.0.1:8002", "http://127.0.0.1:8002"},
           {"[::1]:65535", "http://[::1]:65535"},
           {"host:1/prometheus", "http://host:1/prometheus"},
           {"http://host", "http://host"},
           {"https://[::1]", "https://[::1]"},
           {"[fd00::a]:1", "http://[fd00::a]:1"},
           {"https://[::1]:443/prometheus/", "https://[::1]:443/prometheus"}}) {
    const auto source = MakeHttpSource("--from", address, {});
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ(source->url(), url);
    EXPECT_EQ(source->address, address);
  }
}

TEST(HttpSourceTest, WrongAddressesAreRefused) {
  for (const char* wrong : {"",
                            "http://",
                            "ftp://a",
                            "a b:1",
                            "a:1?b",
                            "a:1#b",
                            "a:1/\nb",
                            "https:///x",
                            "host",
                            "host/x",
                            ":8002",
                            "host:",
                            "host:0",
                            "host:65536",
                            "host:http",
                            "http://host:",
                            "a:b:1",
                            "[::1]",
                            "[::1",
                            "[::1:80",
                            "http://[::1",
                            "[::1]a:80",
                            "[]:80",
                            "[host]:80",
                            "unix:/run/ferry.sock"}) {
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
      "--from", "host:1", {.token = Write("token", "abc-DEF_123\n")});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(source->token, "abc-DEF_123");
  for (const auto& [text, found] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "none"},
           {"\n", "none"},
           {"sec ret", "others"},
           {"sec\r\nret", "others"},
           {"sec\x01ret", "others"},
           {"\xc3\xbc", "others"}}) {
    const std::string path = Write("wrong", text);
    EXPECT_EQ(ReadToken(path).status(),
              absl::InvalidArgumentError(
                  "--token-file: expected one token of printable ASCII "
                  "characters, found " +
                  found + " in '" + path + "'"));
  }
}

TEST(HttpSourceTest, FilesAreToHaveWhatTheyAreFor) {
  EXPECT_THAT(Refusal("host:1", {.token = "/no/token"}),
              HasSubstr("--token-file: cannot read /no/token"));
  EXPECT_THAT(Refusal("host:1", {.ca = "/no/ca"}),
              HasSubstr("--tls-ca: cannot read /no/ca"));
  EXPECT_THAT(Refusal("host:1", {.ca = Write("ca", "none")}),
              HasSubstr("--tls-ca: expected a file of certificates in PEM, "
                        "found none"));
}

}  // namespace
}  // namespace ferry::ctl
