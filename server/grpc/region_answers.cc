// Implements the answers to the RPCs of shared memory.
#include "server/grpc/region_answers.h"

#include "server/grpc/status.h"

namespace ferry {
namespace {

void Tell(const std::string& name, const SharedRegion& region,
          inference::SystemSharedMemoryStatusResponse& response) {
  auto& told = (*response.mutable_regions())[name];
  told.set_name(name);
  told.set_key(region.key());
  told.set_offset(region.offset());
  told.set_byte_size(region.bytes());
}

}  // namespace

grpc::Status AnswerRegionRegister(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryRegisterRequest& request) {
  return ToGrpcStatus(access.regions->Register(
      access.name_of_client(call), request.name(), request.key(),
      request.offset(), request.byte_size()));
}

void AnswerRegionUnregister(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryUnregisterRequest& request,
    const std::function<void(const grpc::Status&)>& reply) {
  const absl::Status status =
      access.regions->Unregister(access.name_of_client(call), request.name(),
                                 [reply] { reply(grpc::Status::OK); });
  if (!status.ok()) {
    reply(ToGrpcStatus(status));
  }
}

grpc::Status AnswerRegionStatus(
    const RegionAccess& access, const grpc::ServerContext& call,
    const inference::SystemSharedMemoryStatusRequest& request,
    inference::SystemSharedMemoryStatusResponse& response) {
  const std::string client = access.name_of_client(call);
  if (request.name().empty()) {
    for (const auto& [name, region] : access.regions->All(client)) {
      Tell(name, *region, response);
    }
    return grpc::Status::OK;
  }
  const absl::StatusOr<SharedRegions::Use> region =
      access.regions->Find(client, request.name());
  if (region.ok()) {
    Tell(request.name(), **region, response);
  }
  return ToGrpcStatus(region.status());
}

}  // namespace ferry
