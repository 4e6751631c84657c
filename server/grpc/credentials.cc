// Implements MakeCredentials(), and the processor of gRPC's that asks an
// Authorizer.
#include "server/grpc/credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/auth/scope.h"
#include "server/grpc/status.h"

namespace ferry {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kPath[] = ":path";
// What a client shows that sends several tokens: none that is known.
constexpr char kTwice[] = "several";
constexpr unsigned int kRefreshSeconds = 1;

absl::string_view ToView(grpc::string_ref text) {
  return {text.data(), text.size()};
}

// Returns the first of that name; empty: none.
absl::string_view ValueOf(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
    const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? absl::string_view() : ToView(found->second);
}

// What a client shows with a call; refers to both.
class Shown {
 public:
  Shown(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
        const grpc::AuthContext& connection)
      : authorization_(metadata.count(kAuthorization) > 1
                           ? kTwice
                           : ValueOf(metadata, kAuthorization)) {
    if (!connection.IsPeerAuthenticated()) {
      return;
    }
    for (const char* property :
         {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
      for (const grpc::string_ref& name :
           connection.FindPropertyValues(property)) {
        names_.push_back(ToView(name));
      }
    }
  }

  Presented presented() const {
    return {.authorization = authorization_, .certificate_names = names_};
  }

 private:
  absl::string_view authorization_;
  std::vector<absl::string_view> names_;
};

// Asks before each call, on the thread that received it: it computes a digest.
class TokenProcessor final : public grpc::AuthMetadataProcessor {
 public:
  TokenProcessor(std::shared_ptr<const Authorizer> authorizer,
                 MethodSet methods)
      : authorizer_(std::move(authorizer)), methods_(methods) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& sent, grpc::AuthContext* connection,
                       OutputMetadata*, OutputMetadata*) override {
    return ToGrpcStatus(
        authorizer_->Authorize(methods_, ScopeOf(ValueOf(sent, kPath)),
                               Shown(sent, *connection).presented()));
  }

 private:
  const std::shared_ptr<const Authorizer> authorizer_;
  const MethodSet methods_;
};

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files) {
  using grpc::experimental::FileWatcherCertificateProvider;
  const bool asks_clients = !files.roots_path().empty();
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<FileWatcherCertificateProvider>(
          files.identity_path(), files.identity_path(), files.roots_path(),
          kRefreshSeconds));
  options.watch_identity_key_cert_pairs();
  if (asks_clients) {
    options.watch_root_certs();
  }
  options.set_cert_request_type(
      asks_clients ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return grpc::experimental::TlsServerCredentials(options);
}

// What is insecure has no processor in gRPC 1.51, but what may be managed by an
// xDS server has; where none manages it, it is insecure.
std::shared_ptr<grpc::ServerCredentials> PlainCredentials() {
  return grpc::XdsServerCredentials(grpc::InsecureServerCredentials());
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(
    const Gatekeeper& keeper, MethodSet methods) {
  const TlsFiles* const files = keeper.tls_files();
  const bool asks =
      keeper.authorizer().has_tokens() || methods == MethodSet::kWithoutAdmin;
  if (files == nullptr && !asks) {
    return grpc::InsecureServerCredentials();
  }
  std::shared_ptr<grpc::ServerCredentials> credentials =
      files == nullptr ? PlainCredentials() : TlsCredentials(*files);
  if (asks) {
    credentials->SetAuthMetadataProcessor(
        std::make_shared<TokenProcessor>(keeper.shared_authorizer(), methods));
  }
  return credentials;
}

std::string NameOfClient(const Authorizer& authorizer,
                         const grpc::ServerContext& call) {
  const std::shared_ptr<const grpc::AuthContext> connection =
      call.auth_context();
  return authorizer.NameOfClient(
      Shown(call.client_metadata(), *connection).presented());
}

}  // namespace ferry
