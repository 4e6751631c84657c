// ModelClient asks a server, by blocking calls, what it serves and what it has
// counted. Works with any server of the Open Inference Protocol: Triton's
// ModelConfig and ModelStatistics tell more where there are any.
//
// Thread safety: thread-safe.
// Errors: the call's status, with the address in the message.
#ifndef FERRY_BENCH_CLIENT_MODEL_CLIENT_H_
#define FERRY_BENCH_CLIENT_MODEL_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "bench/client/connection.h"
#include "proto/inference.grpc.pb.h"

namespace ferry::bench {

// What a server says about one model.
struct ModelDescription {
  std::string server_name;
  std::string server_version;
  std::vector<std::string> server_extensions;
  bool has_statistics = false;
  inference::ModelMetadataResponse metadata;
  bool has_config = false;  // else `config` is empty: the server tells none
  inference::ModelConfig config;

  // Sum of instance counts, at least 1; 0 where no config tells them.
  int32_t instance_count() const;
  // "2 x KIND_GPU on 0 1, 1 x KIND_CPU"; "" where its config has none.
  std::string instances() const;
  // The config's bytes: the same for the same config; empty where none is told.
  std::string ConfigBytes() const;
  // Whether config or metadata say that the device behind it is simulated.
  bool is_simulated() const;
};

class ModelClient {
 public:
  // `address` is host:port; `model` may be served in any version.
  ModelClient(std::string address, std::string model,
              ConnectionOptions connection = {});

  // Waits until the model is ready, at most `limit`. UNAVAILABLE when no
  // server answers, else what it last said, and which models it has.
  absl::Status AwaitReady(Duration limit) const;

  // A server without ModelConfig, which says UNIMPLEMENTED, is described
  // without one.
  absl::StatusOr<ModelDescription> Describe() const;

  // Returns the counters of the model, of all its versions.
  absl::StatusOr<inference::ModelStatisticsResponse> Statistics() const;

  // Sends one request and waits for its reply, at most `limit`.
  absl::StatusOr<inference::ModelInferResponse> Infer(
      const grpc::ByteBuffer& request, Duration limit) const;

  // Has the server register an object of shared memory, of so many bytes, as
  // a region; has it forget the region.
  absl::Status RegisterRegion(const std::string& region, const std::string& key,
                              uint64_t bytes) const;
  absl::Status UnregisterRegion(const std::string& region) const;

  const std::string& address() const { return address_; }
  const std::string& model() const { return model_; }

 private:
  using Stub = inference::GRPCInferenceService::Stub;

  // Returns ": ..." by the server's index of models; "" where it has none.
  std::string WhyNotReady() const;

  static constexpr Duration kCallLimit = std::chrono::seconds(10);

  // One blocking call, at most `limit`.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                          const Request&,
                                                          Reply*),
                             const std::type_identity_t<Request>& request,
                             const char* name,
                             Duration limit = kCallLimit) const;
  absl::Status Convert(const grpc::Status& status, const char* call) const;

  const std::string address_;
  const std::string model_;
  const ConnectionOptions connection_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_MODEL_CLIENT_H_
