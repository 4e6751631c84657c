// MakeCredentials() makes what gRPC does with each connection before its first
// call, TLS or nothing, and has the Authorizer asked before each call.
//
// Thread safety: free functions.
#ifndef FERRY_SERVER_GRPC_CREDENTIALS_H_
#define FERRY_SERVER_GRPC_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/auth/authorizer.h"
#include "server/auth/gatekeeper.h"

namespace ferry {

// Returns what a port of those methods is opened with, which the gatekeeper
// outlives.
std::shared_ptr<grpc::ServerCredentials> MakeCredentials(
    const Gatekeeper& keeper, MethodSet methods);

// Returns the name of the client that calls; empty where it has none.
std::string NameOfClient(const Authorizer& authorizer,
                         const grpc::ServerContext& call);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_CREDENTIALS_H_
