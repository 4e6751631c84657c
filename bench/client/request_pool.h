// MakeRequestPool() makes ready-to-send ModelInfer requests for any model from
// its metadata.
//
// Contents are random and come from a seed, so two runs send the same bytes; or
// real, from a file or folder (payload.h).
// Requests are serialized once: sending one costs the client no copy.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_CLIENT_REQUEST_POOL_H_
#define FERRY_BENCH_CLIENT_REQUEST_POOL_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/client/random_tensor.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

struct RequestPoolOptions {
  int32_t count = 64;  // different requests
  int32_t rows = 1;    // of each, where the model has a batch dimension
  uint64_t seed = 1;
  std::string data;  // file or folder of contents; empty: random ones
  // Samples of `data` are drawn by the seed, not taken in turn.
  bool draws_samples = false;
  // By input name: the shape of one row, for inputs with a -1 in theirs.
  std::map<std::string, std::vector<int64_t>> shapes;
  // By input name: integers to draw; token ids must lie in the vocabulary.
  std::map<std::string, IntegerRange> ranges;
  // Parameter `timeout`, in microseconds; 0: none.
  int64_t timeout_us = 0;
  int32_t priority = 0;  // parameter `priority`; 0: none
  // Bounds the contents of all requests of `data`, which are held at once.
  uint64_t most_bytes = uint64_t{4} << 30;
};

// Returns how to send other contents than these, for a model that refuses them:
// "'ids' has random integers from 0 to 1: --range ids:LOW:HIGH draws others".
std::string ContentAdvice(const inference::ModelMetadataResponse& metadata,
                          const RequestPoolOptions& options);

// Returns the error of a first request, with that advice where what it held may
// be the reason.
absl::Status WithAdvice(const absl::Status& error, const std::string& advice);

// Returns one request. INVALID_ARGUMENT for a -1 without a shape, a shape that
// does not fit, an unknown name or datatype, a message over 1 GiB.
absl::StatusOr<inference::ModelInferRequest> MakeRequest(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options,
    uint64_t seed);

// Makes options.count requests, of real contents as many as
// ForEachPayloadRequest() says, and calls `use` with one after the other, which
// may change it. Errors: those of MakeRequest() and ReadPayload(); what came
// before was used.
absl::Status ForEachRequest(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options,
    const std::function<void(inference::ModelInferRequest&)>& use);

// Returns the request as a client sends it.
grpc::ByteBuffer Serialized(const inference::ModelInferRequest& request);

// Returns these requests, serialized.
absl::StatusOr<std::vector<grpc::ByteBuffer>> MakeRequestPool(
    const inference::ModelMetadataResponse& metadata,
    const inference::ModelConfig& config, const RequestPoolOptions& options);

// Reads "name:128,64" into `shapes`.
absl::Status ParseShape(absl::string_view text,
                        std::map<std::string, std::vector<int64_t>>* shapes);

// Reads "name:0:30521" into `ranges`.
absl::Status ParseRange(absl::string_view text,
                        std::map<std::string, IntegerRange>* ranges);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_REQUEST_POOL_H_
