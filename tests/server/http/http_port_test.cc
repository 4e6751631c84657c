// Tests that a port is served with the certificate that is in force, and that
// one which does not serve leaves that before.
#include "server/http/http_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "tests/server/logged_text.h"
#include "tests/server/net/loopback_client.h"
#include "tests/support/fake_clock.h"
#include "tests/support/files_left.h"
#include "tests/support/test_certificates.h"

namespace {

// Each close() of what is not open, in the whole program: such a number may be
// that of a file that another thread has just opened.
std::atomic<int> closed_twice = 0;

}  // namespace

// Stands in for that of the C library.
extern "C" int close(int fd) {
  const int result = static_cast<int>(syscall(SYS_close, fd));
  closed_twice += fd >= 0 && result != 0 && errno == EBADF ? 1 : 0;
  return result;
}

namespace ferry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One connection over TLS, which takes any certificate.
class TlsClient {
 public:
  explicit TlsClient(int port)
      : connection_(port, AF_INET),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(SSL_new(context_.get()), SSL_free) {
    EXPECT_EQ(connection_.error(), 0);
    SSL_set_fd(ssl_.get(), connection_.fd());
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
  }

  // Returns the name that the server's certificate is of.
  std::string ServerName() const {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(ssl_.get()), X509_free);
    char name[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                              NID_commonName, name, sizeof(name));
    return name;
  }

  // Returns all of the reply.
  std::string Get(const std::string& path) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size()));
    std::string reply;
    char piece[4096];
    for (int size = 0;
         (size = SSL_read(ssl_.get(), piece, sizeof(piece))) > 0;) {
      reply.append(piece, static_cast<size_t>(size));
    }
    return reply;
  }

 private:
  const LoopbackClient connection_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

// Whether the server takes that version of TLS, and no other.
bool CanShakeHands(int port, int version) {
  const LoopbackClient connection(port, AF_INET);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  // OpenSSL itself offers the old ones at this level alone.
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()),
                                                      SSL_free);
  SSL_set_fd(ssl.get(), connection.fd());
  return SSL_connect(ssl.get()) == 1;
}

std::string IdentityOf(const std::string& name,
                       const TestKey& key = TestKey()) {
  return key.pem() + TestCertificate(key, name, absl::Now() - absl::Hours(1),
                                     absl::Now() + absl::Hours(1));
}

std::unique_ptr<HttpPort> Open(const std::string& tls) {
  auto sockets = ListenSockets::Bind("127.0.0.1", 0);
  EXPECT_TRUE(sockets.ok());
  auto port =
      HttpPort::Open(*std::move(sockets),
                     {.routes = {{"/",
                                  [](const HttpRequest&) {
                                    return HttpReply{.body = "answered"};
                                  }}},
                      .others = {},
                      .refuses = {}},
                     tls);
  EXPECT_TRUE(port.ok()) << port.status();
  return *std::move(port);
}

TEST(HttpPortTest, NewConnectionsSeeTheCertificateInForce) {
  const FakeClock clock;
  const std::unique_ptr<HttpPort> port = Open(IdentityOf("first"));
  TlsClient before(port->port());
  EXPECT_EQ(before.ServerName(), "first");
  const std::string second = IdentityOf("second");
  EXPECT_TRUE(port->Look(second, clock.Now()));
  TlsClient after(port->port());
  EXPECT_EQ(after.ServerName(), "second");
  EXPECT_THAT(before.Get("/"), EndsWith("answered")) << "until the next look";
  EXPECT_TRUE(port->Look(second, clock.Now()));
  EXPECT_THAT(after.Get("/"), EndsWith("answered"));
}

TEST(HttpPortTest, OldVersionsOfTlsAreRefused) {
  const std::unique_ptr<HttpPort> port = Open(IdentityOf("any"));
  EXPECT_FALSE(CanShakeHands(port->port(), TLS1_VERSION));
  EXPECT_FALSE(CanShakeHands(port->port(), TLS1_1_VERSION));
  EXPECT_TRUE(CanShakeHands(port->port(), TLS1_2_VERSION));
  EXPECT_TRUE(CanShakeHands(port->port(), TLS1_3_VERSION));
}

TEST(HttpPortTest, CertificateThatDoesNotServeLeavesTheOneBefore) {
  FakeClock clock;
  LoggedText logged;
  const std::string good = IdentityOf("good");
  const std::unique_ptr<HttpPort> port = Open(good);
  const auto look = [&](const std::string& tls) {
    EXPECT_EQ(port->Look(tls, clock.Now()), tls == good);
    return logged.Take();
  };
  EXPECT_THAT(look("neither key nor certificate"),
              HasSubstr("HTTP keeps the certificate before"));
  EXPECT_EQ(TlsClient(port->port()).ServerName(), "good");
  EXPECT_EQ(closed_twice, 0);
  clock.Advance(std::chrono::minutes(1));
  EXPECT_THAT(look("neither key nor certificate"), IsEmpty()) << "once";
  // OpenSSL takes this one.
  const std::string other = IdentityOf("other", TestKey("secp256k1"));
  EXPECT_THAT(look(other), HasSubstr("that GnuTLS takes, got others"));
  EXPECT_THAT(look(other), IsEmpty());
  EXPECT_THAT(TlsClient(port->port()).Get("/"), EndsWith("answered"));
  EXPECT_THAT(look(good), IsEmpty());
  EXPECT_THAT(look(other), HasSubstr("got others")) << "it came again";
  EXPECT_EQ(closed_twice, 0);
}

TEST(HttpPortTest, TooFewFilesLeaveTheCertificateBeforeForAWhile) {
  const FakeClock clock;
  LoggedText logged;
  const std::unique_ptr<HttpPort> port = Open(IdentityOf("first"));
  const std::string second = IdentityOf("second");
  {
    const int lowest = NextFile();
    const FilesLeft one(1);
    EXPECT_FALSE(port->Look(second, clock.Now()));
    EXPECT_EQ(NextFile(), lowest) << "the socket is closed";
    EXPECT_FALSE(port->Look(second, clock.Now()));
  }
  EXPECT_THAT(logged.Take(), EndsWith("before: Too many open files\n"));
  EXPECT_EQ(closed_twice, 0);
  EXPECT_TRUE(port->Look(second, clock.Now()));
  EXPECT_EQ(TlsClient(port->port()).ServerName(), "second");
}

}  // namespace
}  // namespace ferry
