// ToGrpcStatus() is the one place where a failure becomes a gRPC status.
//
// Codes: INVALID_ARGUMENT the message is wrong; NOT_FOUND no such model or
// version; UNIMPLEMENTED not offered; RESOURCE_EXHAUSTED the queue is full;
// DEADLINE_EXCEEDED; CANCELLED; UNAVAILABLE draining or device lost; INTERNAL
// the backend failed. docs/decisions/ says why these and not Triton's.
//
// AddRetryPushback() is the one place where a client is told when to try again.
// CheckMetadata() bounds the memory that a call holds while it is open.
//
// Thread safety: free functions over values.
#ifndef FERRY_SERVER_GRPC_STATUS_H_
#define FERRY_SERVER_GRPC_STATUS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "batcher/completion.h"

namespace ferry {

enum class StatusCodes {
  kFerry,
  kTriton,  // a full queue is UNAVAILABLE, as in Triton
};

// Returns the gRPC status of that code and text, which is cut where a client's
// bound of metadata would turn it into another one.
grpc::Status ToGrpcStatus(const absl::Status& status,
                          StatusCodes codes = StatusCodes::kFerry);

// Returns how a request ended that was admitted: the codes are the same in both
// worlds, as no queue was full.
grpc::Status ToGrpcStatus(Outcome outcome);

// Returns when to try UNAVAILABLE again, by which time a client that was told
// of a drain has turned elsewhere; nothing for other codes.
std::optional<int64_t> RetryPushbackMs(const grpc::Status& status);

// Tells the client of a call that ends when to try again, where it may.
void AddRetryPushback(std::optional<int64_t> ms, grpc::ServerContext& context);

// What the metadata of a call that waits may have: more than proxies pass.
inline constexpr size_t kMaxHeldMetadataBytes = size_t{64} << 10;

// Returns RESOURCE_EXHAUSTED where the client sent more metadata than that, as
// RFC 9113, 6.5.2 counts it; gRPC itself takes some calls' 1 MiB.
grpc::Status CheckMetadata(const grpc::ServerContext& call,
                           size_t at_most = kMaxHeldMetadataBytes);

// Returns the same with "[request id: <id>] " before its text, as clients of
// Triton know it.
grpc::Status WithRequestId(const grpc::Status& status, const std::string& id);

// Returns whether the request may be sent again once the queue has drained.
bool IsOverload(const absl::Status& status);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_STATUS_H_
