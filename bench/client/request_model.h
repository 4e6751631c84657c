// RequestModel is the description by which requests to a model are made, with
// or without the model's config from its server.
//
// With a config, max_batch_size says whether the first dimension of the
// metadata's shapes is the batch's. ModelConfig is Triton's extension; without
// it, as of OpenVINO Model Server and KServe, the shapes are whole ones, and a
// -1 that leads one is its batch dimension.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_CLIENT_REQUEST_MODEL_H_
#define FERRY_BENCH_CLIENT_REQUEST_MODEL_H_

#include "absl/status/statusor.h"
#include "bench/client/model_client.h"
#include "bench/client/request_pool.h"
#include "proto/inference.pb.h"

namespace ferry::bench {

// What MakeRequest() and MakeRequestPool() take.
struct RequestModel {
  inference::ModelMetadataResponse metadata;
  inference::ModelConfig config;
  RequestPoolOptions options;
};

// Returns the description as it is, where it has a config. Else:
//   - Where every input is led by a -1, that is the batch dimension, and
//     --shape and --data are of one row, as with a config.
//   - Otherwise requests have whole shapes, with options.rows for each -1 that
//     leads one; a --shape may have all sizes of its input, or leave out that
//     -1. --data is of whole inputs.
// INVALID_ARGUMENT for more rows than one where no -1 leads an input and a
// dimension that does is another, and for metadata without inputs.
absl::StatusOr<RequestModel> ModelOfRequests(
    const ModelDescription& description, const RequestPoolOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_REQUEST_MODEL_H_
