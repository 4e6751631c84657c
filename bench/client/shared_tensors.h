// SharedTensors leaves the tensors of requests in shared memory, which the
// server registers, so that messages only name them.
//
// All of them are in one object of /dev/shm, each request's inputs and then the
// outputs of its reply. The object has no name any more once the server has it:
// of a client that is killed the server alone keeps something, the region.
//
// Thread safety: thread-compatible; the requests are plain values.
#ifndef FERRY_BENCH_CLIENT_SHARED_TENSORS_H_
#define FERRY_BENCH_CLIENT_SHARED_TENSORS_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/client/model_client.h"
#include "bench/client/request_model.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

class SharedTensors {
 public:
  // Makes the requests, with room for outputs as large as those of `reply`;
  // outputs of strings stay in messages. Errors: those of ForEachRequest();
  // RESOURCE_EXHAUSTED where /dev/shm has no room; the server's, where it
  // offers no shared memory.
  static absl::StatusOr<std::unique_ptr<SharedTensors>> Create(
      std::unique_ptr<const ModelClient> client, const RequestModel& of,
      const inference::ModelInferResponse& reply);

  // Has the server forget the region.
  ~SharedTensors();
  SharedTensors(const SharedTensors&) = delete;
  SharedTensors& operator=(const SharedTensors&) = delete;

  const ModelClient& client() const { return *client_; }

  // Returns the requests, serialized. Once.
  std::vector<grpc::ByteBuffer> TakeRequests() { return std::move(requests_); }

 private:
  SharedTensors(std::unique_ptr<const ModelClient> client, std::string region,
                std::vector<grpc::ByteBuffer> requests)
      : client_(std::move(client)),
        region_(std::move(region)),
        requests_(std::move(requests)) {}

  const std::unique_ptr<const ModelClient> client_;
  const std::string region_;
  std::vector<grpc::ByteBuffer> requests_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_SHARED_TENSORS_H_
