// MakeCredentials() makes what gRPC does with each connection before its first
// call, TLS or nothing, and has the Authorizer asked before each call.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_AUTH_CREDENTIALS_H_
#define FERRY_SERVER_AUTH_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/auth/authorizer.h"
#include "server/auth/tls_files.h"

namespace ferry {

// `files`: null: plain connections; else they outlive the credentials.
std::shared_ptr<grpc::ServerCredentials> MakeCredentials(
    const TlsFiles* files, std::shared_ptr<const Authorizer> authorizer,
    MethodSet methods);

// Returns the name of the client that calls; empty where it has none.
std::string NameOfClient(const Authorizer& authorizer,
                         const grpc::ServerContext& call);

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_CREDENTIALS_H_
