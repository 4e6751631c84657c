// Implements TlsFiles: OpenSSL reads and compares, memfd_create() keeps.
#include "server/auth/tls_files.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/write_all.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr int kLooksUntilRetry = 10;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

absl::Status Expected(const std::string& path, absl::string_view what,
                      absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": expected ", what, ", got ", found));
}

Bio ReaderOf(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
          &BIO_free};
}

// Returns the first certificate of a file. All are read, as gRPC would leave
// out what follows one that is cut.
absl::StatusOr<Certificate> FirstOf(const std::string& path,
                                    const std::string& text) {
  ERR_clear_error();
  const Bio reader = ReaderOf(text);
  const auto next = [&reader] {
    return Certificate(
        PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr), &X509_free);
  };
  Certificate first = next();
  int count = first == nullptr ? 0 : 1;
  while (count > 0 && next() != nullptr) {
    ++count;
  }
  const bool is_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0 && is_end) {
    return Expected(path, "a certificate in PEM", "none");
  }
  const size_t begin = text.rfind("-----BEGIN");
  const bool is_cut =
      begin != text.npos && text.find("-----END", begin) == text.npos;
  if (!is_end || is_cut) {
    return Expected(path, "whole certificates in PEM",
                    absl::StrCat(count, " and one that cannot be read"));
  }
  return first;
}

// A key that needs a password is none: nothing is asked on a terminal.
Key KeyOf(const std::string& text) {
  const Bio reader = ReaderOf(text);
  Key key(PEM_read_bio_PrivateKey(
              reader.get(), nullptr, [](char*, int, int, void*) { return -1; },
              nullptr),
          &EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  tm calendar{};
  return ASN1_TIME_to_tm(time, &calendar) == 1
             ? absl::FromTimeT(timegm(&calendar))
             : absl::InfinitePast();
}

std::string Octal(unsigned number) { return absl::StrFormat("%04o", number); }

absl::Status CheckMode(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0) {
    return Expected(path, "a key that others may not read (chmod o= FILE)",
                    absl::StrCat("mode ", Octal(info.st_mode & 07777)));
  }
  return absl::OkStatus();
}

// Returns memory that a path leads to.
absl::StatusOr<OwnedFd> FilledWith(const std::string& text) {
  OwnedFd fd(memfd_create("ferry-tls", MFD_CLOEXEC));
  if (fd.get() < 0 || WriteAll(fd.get(), text) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected memory for certificates, got ", std::strerror(errno)));
  }
  return fd;
}

}  // namespace

absl::StatusOr<TlsFiles::Contents> TlsFiles::Read(const TlsPaths& paths,
                                                  absl::Time now) {
  if (absl::Status status = CheckMode(paths.key); !status.ok()) {
    return status;
  }
  const absl::StatusOr<std::string> key_text =
      ReadFile(paths.key, kMaxPemBytes);
  if (!key_text.ok()) {
    return key_text.status();
  }
  const absl::StatusOr<std::string> certificate_text =
      ReadFile(paths.certificate, kMaxPemBytes);
  if (!certificate_text.ok()) {
    return certificate_text.status();
  }
  const Key key = KeyOf(*key_text);
  if (key == nullptr) {
    return Expected(paths.key, "a private key in PEM, without a password",
                    "none");
  }
  const absl::StatusOr<Certificate> first =
      FirstOf(paths.certificate, *certificate_text);
  if (!first.ok()) {
    return first.status();
  }
  const Certificate& certificate = *first;
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return Expected(paths.certificate,
                    absl::StrCat("the certificate of the key in ", paths.key),
                    "that of another");
  }
  Contents contents = {
      .identity = absl::StrCat(*key_text, "\n", *certificate_text),
      .roots = "",
      .expiry = TimeOf(X509_get0_notAfter(certificate.get()))};
  const absl::Time begin = TimeOf(X509_get0_notBefore(certificate.get()));
  if (now < begin || now >= contents.expiry) {
    return Expected(
        paths.certificate, "a certificate that is valid now",
        absl::StrCat("one from ", absl::FormatTime(begin, absl::UTCTimeZone()),
                     " to ",
                     absl::FormatTime(contents.expiry, absl::UTCTimeZone())));
  }
  if (!paths.client_ca.empty()) {
    absl::StatusOr<std::string> roots = ReadFile(paths.client_ca, kMaxPemBytes);
    if (!roots.ok()) {
      return roots.status();
    }
    if (auto one = FirstOf(paths.client_ca, *roots); !one.ok()) {
      return one.status();
    }
    contents.roots = *std::move(roots);
  }
  return contents;
}

std::string TlsFiles::Stamp(const TlsPaths& paths) {
  std::string stamp;
  for (const std::string* path :
       {&paths.certificate, &paths.key, &paths.client_ca}) {
    struct stat info {};
    if (!path->empty() && stat(path->c_str(), &info) == 0) {
      absl::StrAppend(&stamp, info.st_dev, ":", info.st_ino, ":", info.st_size,
                      ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ":",
                      info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec);
    }
    stamp += ';';
  }
  return stamp;
}

void TlsFiles::Put(OwnedFd filled, Memory& memory) {
  if (memory.fd.get() >= 0) {
    Check(dup3(filled.get(), memory.fd.get(), O_CLOEXEC) >= 0,
          "an open descriptor can be replaced");
    return;
  }
  memory.path = absl::StrCat("/proc/self/fd/", filled.get());
  memory.fd = std::move(filled);
}

absl::Status TlsFiles::Take(Contents contents) {
  absl::StatusOr<OwnedFd> identity = FilledWith(contents.identity);
  if (!identity.ok()) {
    return identity.status();
  }
  if (!contents.roots.empty()) {
    absl::StatusOr<OwnedFd> roots = FilledWith(contents.roots);
    if (!roots.ok()) {
      return roots.status();
    }
    Put(*std::move(roots), roots_);
  }
  Put(*std::move(identity), identity_);
  in_force_ = std::move(contents);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Open(const TlsPaths& paths,
                                                         absl::Time now) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(paths));
  files->stamp_ = files->changed_ = Stamp(paths);
  absl::StatusOr<Contents> contents = Read(paths, now);
  if (!contents.ok()) {
    return contents.status();
  }
  if (absl::Status status = files->Take(*std::move(contents)); !status.ok()) {
    return status;
  }
  return files;
}

absl::StatusOr<bool> TlsFiles::Look(absl::Time now) {
  const std::string before = std::exchange(changed_, Stamp(paths_));
  const bool is_due = !refusal_.empty() && ++looks_since_ >= kLooksUntilRetry;
  if (changed_ != before || (changed_ == stamp_ && !is_due)) {
    return false;
  }
  stamp_ = changed_;
  looks_since_ = 0;
  absl::StatusOr<Contents> contents = Read(paths_, now);
  absl::Status status = contents.status();
  if (status.ok()) {
    status = Take(*std::move(contents));
  }
  const std::string told =
      std::exchange(refusal_, std::string(status.message()));
  if (status.ok()) {
    return true;
  }
  return told == refusal_ ? absl::StatusOr<bool>(false) : status;
}

}  // namespace ferry
