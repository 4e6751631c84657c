// Requests of real inputs: each of so many samples, in turn or drawn.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_
#define FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/client/payload.h"
#include "bench/client/request_pool.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

// Returns requests of options.rows samples each, of a model without a batch
// dimension of one: in turn, so many requests as send each sample equally
// often, or options.count that are drawn by the seed. INVALID_ARGUMENT where
// samples of one request differ in shape, or a request is over 1 GiB.
absl::StatusOr<std::vector<inference::ModelInferRequest>> PayloadRequests(
    const inference::ModelMetadataResponse& metadata,
    const std::vector<InputSpec>& inputs, const std::vector<Sample>& samples,
    const RequestPoolOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_
