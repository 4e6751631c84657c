// Tests which keys and certificates are taken, and what stays in force where
// others are wrong.
#include "server/auth/tls_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/files_left.h"
#include "tests/support/test_certificates.h"

namespace ferry {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() {
    std::filesystem::create_directories(folder_);
    paths_ = {.certificate = folder_ / "tls.crt",
              .key = folder_ / "tls.key",
              .client_ca = ""};
    Write(paths_.key, key_.pem(), 0600);
    Write(paths_.certificate, CertificateOf(key_));
  }
  ~TlsFilesTest() override { std::filesystem::remove_all(folder_); }

  // A rename puts it there, so that it is never half there.
  void Write(const std::string& path, const std::string& text,
             mode_t mode = 0644) {
    const std::string made = path + ".new";
    std::ofstream(made) << text;
    ASSERT_EQ(chmod(made.c_str(), mode), 0);
    std::filesystem::rename(made, path);
  }

  std::string CertificateOf(const TestKey& key, absl::Duration left = kDay) {
    return TestCertificate(key, "server", now_ - kDay, now_ + left);
  }

  static std::string TextOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string Refusal() {
    return std::string(TlsFiles::Open(paths_, now_).status().message());
  }

  // Returns what a look finds, in words, or why it is refused.
  std::string Look(TlsFiles& files) const {
    const absl::StatusOr<bool> is_other = files.Look(now_);
    return !is_other.ok() ? std::string(is_other.status().message())
           : *is_other    ? "others"
                          : "as before";
  }

  void ExpectRefused(const std::string& path, const std::string& said) {
    const std::string refusal = Refusal();
    EXPECT_TRUE(absl::StartsWith(refusal, path + ": expected ")) << refusal;
    EXPECT_TRUE(absl::StrContains(refusal, said)) << refusal;
    EXPECT_FALSE(absl::StrContains(refusal, "PRIVATE")) << refusal;
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'790'000'000);
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("tls_files_test." + std::to_string(getpid()));
  const TestKey key_;
  TlsPaths paths_;
};

// No file can become larger while it lives, in memory or on a disk.
class LargestFile {
 public:
  explicit LargestFile(size_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit bound = before_;
    bound.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &bound);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;
  ~LargestFile() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

TEST_F(TlsFilesTest, KeyAndCertificateAreOneFileInMemory) {
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string identity = TextOf((*files)->identity_path());
  EXPECT_TRUE(absl::StrContains(identity, key_.pem()));
  EXPECT_TRUE(absl::StrContains(identity, TextOf(paths_.certificate)));
  EXPECT_EQ((*files)->roots_path(), "");
  EXPECT_EQ((*files)->expiry(), now_ + kDay);
}

TEST_F(TlsFilesTest, AuthoritiesOfClientsAreThereWhereTheyAreGiven) {
  paths_.client_ca = folder_ / "ca.crt";
  const std::string roots = CertificateOf(TestKey());
  Write(paths_.client_ca, roots);
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(TextOf((*files)->roots_path()), roots);
  Write(paths_.client_ca, "none\n");
  ExpectRefused(paths_.client_ca, "a certificate in PEM, got none");
}

TEST_F(TlsFilesTest, ChainsThatAreCutAreRefused) {
  const std::string whole = CertificateOf(key_);
  const std::string next = CertificateOf(TestKey());
  Write(paths_.certificate, whole + next);
  EXPECT_EQ(Refusal(), "");
  paths_.client_ca = folder_ / "ca.crt";
  Write(paths_.client_ca, whole + next);
  EXPECT_EQ(Refusal(), "");
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok()) << files.status();
  std::string garbled = next;
  garbled.replace(garbled.size() / 2, 4, "!!!!");
  for (const std::string& cut :
       {whole + next.substr(0, next.size() / 2),
        whole + next.substr(0, next.size() - 10),
        whole + next.substr(0, next.find('\n')), whole + garbled}) {
    Write(paths_.client_ca, whole + next);
    Write(paths_.certificate, cut);
    ExpectRefused(paths_.certificate,
                  "whole certificates in PEM, got 1 and one that cannot be "
                  "read");
    Look(**files);
    EXPECT_NE(Look(**files), "others");
    Write(paths_.certificate, whole + next);
    Write(paths_.client_ca, cut);
    ExpectRefused(paths_.client_ca, "got 1 and one that cannot be read");
  }
  Write(paths_.client_ca, whole);
  Write(paths_.certificate, whole.substr(0, whole.size() / 2));
  ExpectRefused(paths_.certificate, "got 0 and one that cannot be read");
}

TEST_F(TlsFilesTest, IdentityAndAuthoritiesAreTakenTogetherOrNeither) {
  paths_.client_ca = folder_ / "ca.crt";
  const std::string old_roots = CertificateOf(TestKey());
  Write(paths_.client_ca, old_roots);
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string before = (*files)->identity();
  const std::string certificate = CertificateOf(key_, 2 * kDay);
  std::string roots;
  while (roots.size() < 4 * before.size()) {
    roots += CertificateOf(TestKey());
  }
  Write(paths_.certificate, certificate);
  Write(paths_.client_ca, roots);
  EXPECT_EQ(Look(**files), "as before");
  std::string found;
  const auto expect_all_before = [&](const std::string& why) {
    EXPECT_EQ(found, "expected memory for certificates, got " + why);
    EXPECT_EQ(TextOf((*files)->identity_path()), before);
    EXPECT_EQ(TextOf((*files)->roots_path()), old_roots);
    EXPECT_EQ((*files)->identity(), before);
    EXPECT_EQ((*files)->expiry(), now_ + kDay);
  };
  {
    const LargestFile fits_identity(2 * before.size());
    found = Look(**files);
  }
  expect_all_before("File too large");
  Write(paths_.certificate, certificate);
  EXPECT_EQ(Look(**files), "as before");
  {
    const FilesLeft one(1);
    found = Look(**files);
  }
  expect_all_before("Too many open files");
  Write(paths_.certificate, certificate);
  EXPECT_EQ(Look(**files), "as before");
  EXPECT_EQ(Look(**files), "others");
  EXPECT_EQ((*files)->identity(), TextOf((*files)->identity_path()));
  EXPECT_TRUE(absl::StrContains((*files)->identity(), certificate));
  EXPECT_EQ(TextOf((*files)->roots_path()), roots);
}

TEST_F(TlsFilesTest, WhatIsWrongIsToldByItsFile) {
  Write(paths_.key, key_.pem(), 0644);
  ExpectRefused(paths_.key,
                "that others may not read (chmod o= FILE), got "
                "mode 0644");
  Write(paths_.key, "no key\n", 0600);
  ExpectRefused(paths_.key,
                "a private key in PEM, without a password, got none");
  Write(paths_.key, TestKey().pem(), 0640);
  ExpectRefused(paths_.certificate, "the certificate of the key in " +
                                        paths_.key + ", got that of another");
  Write(paths_.key, key_.pem(), 0600);
  Write(paths_.certificate, "");
  ExpectRefused(paths_.certificate, "a certificate in PEM, got none");
  Write(paths_.certificate, CertificateOf(key_, absl::ZeroDuration()));
  ExpectRefused(paths_.certificate, "that is valid now, got one from ");
  Write(paths_.certificate,
        TestCertificate(key_, "server", now_ + kDay, now_ + 2 * kDay));
  ExpectRefused(paths_.certificate, "that is valid now, got one from ");
  std::filesystem::remove(paths_.certificate);
  EXPECT_TRUE(
      absl::StrContains(Refusal(), "cannot read '" + paths_.certificate))
      << Refusal();
}

TEST_F(TlsFilesTest, OtherFilesAreTakenWhenTheyHaveStayedForALook) {
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok());
  const std::string path = (*files)->identity_path();
  EXPECT_EQ(Look(**files), "as before");
  const TestKey other;
  Write(paths_.key, other.pem(), 0600);
  EXPECT_EQ(Look(**files), "as before") << "the certificate is not there yet";
  Write(paths_.certificate, CertificateOf(other, 2 * kDay));
  EXPECT_EQ(Look(**files), "as before");
  EXPECT_EQ(Look(**files), "others");
  EXPECT_EQ(Look(**files), "as before");
  EXPECT_EQ((*files)->expiry(), now_ + 2 * kDay);
  EXPECT_EQ((*files)->identity_path(), path);
  EXPECT_TRUE(absl::StrContains(TextOf(path), other.pem()));
  EXPECT_FALSE(absl::StrContains(TextOf(path), key_.pem()));
  EXPECT_EQ((*files)->identity(), TextOf(path));
}

TEST_F(TlsFilesTest, WrongOnesLeaveThoseInForceAndAreToldOnce) {
  const auto files = TlsFiles::Open(paths_, now_);
  ASSERT_TRUE(files.ok());
  const std::string before = TextOf((*files)->identity_path());
  Write(paths_.certificate, CertificateOf(TestKey()));
  EXPECT_EQ(Look(**files), "as before");
  EXPECT_TRUE(absl::StrContains(Look(**files), "got that of another"));
  EXPECT_EQ(Look(**files), "as before") << "told once";
  EXPECT_TRUE((*files)->is_stale());
  EXPECT_EQ(TextOf((*files)->identity_path()), before);
  Write(paths_.certificate, CertificateOf(key_, 2 * kDay));
  EXPECT_EQ(Look(**files), "as before");
  EXPECT_EQ(Look(**files), "others");
  EXPECT_EQ((*files)->expiry(), now_ + 2 * kDay);
  EXPECT_FALSE((*files)->is_stale());
}

}  // namespace
}  // namespace ferry
