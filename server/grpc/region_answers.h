// AnswerRegionRegister() and its like answer the RPCs of shared memory.
//
// Thread safety: free functions; each may run beside the others.
// Errors: those of SharedRegions.
#ifndef FERRY_SERVER_GRPC_REGION_ANSWERS_H_
#define FERRY_SERVER_GRPC_REGION_ANSWERS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <string>

#include "proto/inference.pb.h"
#include "server/codec/shared_regions.h"

namespace ferry {

// What clients share, and how a client is named; null: it is not offered.
struct RegionAccess {
  SharedRegions* regions = nullptr;
  std::function<std::string(const grpc::ServerContext&)> name_of_client = {};
};

grpc::Status AnswerRegionRegister(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryRegisterRequest& request);

// Calls `reply` once no request uses the regions any more, from any thread.
void AnswerRegionUnregister(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryUnregisterRequest& request,
    const std::function<void(const grpc::Status&)>& reply);

// Tells the client's own regions.
grpc::Status AnswerRegionStatus(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryStatusRequest& request,
    inference::SystemSharedMemoryStatusResponse& response);

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_REGION_ANSWERS_H_
