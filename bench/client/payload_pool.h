// ForEachPayloadRequest() makes requests of a number of real inputs each, taken
// in turn or drawn.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_
#define FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "bench/client/payload.h"
#include "bench/client/request_pool.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

// Makes requests of options.rows samples each, of a model without a batch
// dimension of one: in turn, so many requests as send each sample equally
// often, or options.count that are drawn by the seed. Calls `use` with one
// after the other, which may change it, and keeps none. INVALID_ARGUMENT where
// samples of one request differ in shape, a request is over 1 GiB, or all are
// over options.most_bytes; in turn that is known before the first.
absl::Status ForEachPayloadRequest(
    const inference::ModelMetadataResponse& metadata,
    const std::vector<InputSpec>& inputs, const std::vector<Sample>& samples,
    const RequestPoolOptions& options,
    const std::function<void(inference::ModelInferRequest&)>& use);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_PAYLOAD_POOL_H_
