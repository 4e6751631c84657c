// Implements ConnectionOptions: checked headers, credentials, channels.
#include "bench/client/connection.h"

#include <grpc/grpc.h>
#include <grpcpp/security/credentials.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/readable_file.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kBinarySuffix = "-bin";
// gRPC sets them itself; names of its own begin with "grpc-".
constexpr std::array<absl::string_view, 5> kReserved = {
    "content-type", "te", "user-agent", "host", "connection"};

// A slice that borrows the text.
grpc_slice SliceOf(absl::string_view text) {
  return grpc_slice_from_static_buffer(text.data(), text.size());
}

bool IsLegalName(absl::string_view name) {
  return !name.empty() && grpc_header_key_is_legal(SliceOf(name)) != 0 &&
         !absl::StartsWith(name, "grpc-") &&
         std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

absl::StatusOr<std::pair<std::string, std::string>> ReadHeader(
    absl::string_view text) {
  const size_t colon = text.find(':');
  const std::string name = absl::AsciiStrToLower(text.substr(0, colon));
  if (colon == absl::string_view::npos || !IsLegalName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--header: expected NAME:VALUE with NAME of letters, digits, '-', '_' "
        "and '.', and none that gRPC sets itself, got '",
        WithoutValue(text), "'"));
  }
  const std::string value(
      absl::StripLeadingAsciiWhitespace(text.substr(colon + 1)));
  if (!absl::EndsWith(name, kBinarySuffix) &&
      grpc_header_nonbin_value_is_legal(SliceOf(value)) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--header: expected a value of printable ASCII characters, got others "
        "in that of '",
        name, "'"));
  }
  return std::pair(name, value);
}

absl::Status CheckCertificates(const std::string& text, absl::string_view flag,
                               const std::string& path) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  int count = 0;
  while (X509* const certificate =
             PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    X509_free(certificate);
    ++count;
  }
  const bool is_at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (is_at_end && count > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": expected a file of certificates in PEM, found ",
      is_at_end
          ? "none"
          : absl::StrCat("one that cannot be read, after ", count, " others,"),
      " in '", path, "'"));
}

absl::StatusOr<std::string> ReadFlagFile(absl::string_view flag,
                                         const std::string& path) {
  const auto file = OpenToRead(path);
  if (!file.ok()) {
    return absl::NotFoundError(
        absl::StrCat(flag, ": ", file.status().message()));
  }
  std::ostringstream contents;
  contents << file->rdbuf();
  return contents.str();
}

absl::StatusOr<std::string> ReadCertificates(absl::string_view flag,
                                             const std::string& path) {
  auto text = ReadFlagFile(flag, path);
  if (!text.ok()) {
    return text.status();
  }
  if (absl::Status status = CheckCertificates(*text, flag, path);
      !status.ok()) {
    return status;
  }
  return text;
}

// gRPC itself would fail each call, without saying why.
absl::Status CheckKey(const ConnectionOptions& connection,
                      const ConnectionFlags& flags) {
  const auto open = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(
          open(connection.key).get(), nullptr,
          [](char*, int, int, void*) { return 0; },  // asks for no password
          nullptr),
      &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(open(connection.certificate).get(), nullptr, nullptr,
                        nullptr),
      &X509_free);
  const bool fits = key != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat(
                    "--tls-key: expected the key of '", flags.tls_cert,
                    "' in PEM without a password, found ",
                    key == nullptr ? "none" : "another", " in '", flags.tls_key,
                    "'"));
}

absl::Status ReadOwnCertificate(const ConnectionFlags& flags,
                                ConnectionOptions& connection) {
  if (flags.tls_cert.empty()) {
    return absl::OkStatus();
  }
  auto certificate = ReadCertificates("--tls-cert", flags.tls_cert);
  if (!certificate.ok()) {
    return certificate.status();
  }
  auto key = ReadFlagFile("--tls-key", flags.tls_key);
  if (!key.ok()) {
    return key.status();
  }
  connection.certificate = *std::move(certificate);
  connection.key = *std::move(key);
  return CheckKey(connection, flags);
}

}  // namespace

absl::StatusOr<ConnectionOptions> ReadConnection(const ConnectionFlags& flags) {
  ConnectionOptions connection;
  for (const std::string& text : flags.headers) {
    auto header = ReadHeader(text);
    if (!header.ok()) {
      return header.status();
    }
    connection.headers.push_back(*std::move(header));
  }
  connection.authority = flags.authority;
  connection.tls = flags.tls;
  if (!flags.tls_ca.empty()) {
    auto certificates = ReadCertificates("--tls-ca", flags.tls_ca);
    if (!certificates.ok()) {
      return certificates.status();
    }
    connection.root_certificates = *std::move(certificates);
  }
  if (absl::Status status = ReadOwnCertificate(flags, connection);
      !status.ok()) {
    return status;
  }
  return connection;
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address, const ConnectionOptions& connection) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  if (!connection.authority.empty()) {
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, connection.authority);
  }
  if (!connection.tls) {
    return grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments);
  }
  if (!connection.authority.empty()) {
    arguments.SetSslTargetNameOverride(connection.authority);
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = connection.root_certificates;
  options.pem_cert_chain = connection.certificate;
  options.pem_private_key = connection.key;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options),
                                   arguments);
}

gpr_timespec DeadlineIn(Duration limit) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(limit.count(), GPR_TIMESPAN));
}

void AddHeaders(const ConnectionOptions& connection,
                grpc::ClientContext& context) {
  for (const auto& [name, value] : connection.headers) {
    context.AddMetadata(name, value);
  }
}

std::string WithoutValue(absl::string_view header) {
  const size_t colon = header.find(':');
  return colon == absl::string_view::npos
             ? "..."
             : absl::StrCat(header.substr(0, colon), ":...");
}

}  // namespace ferry::bench
