// PrepareSoak() makes what a soak sends to a model: right requests of 1 to a
// number of rows, with their reference replies, and requests wrong in each way
// a client can be.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_SOAK_SOAK_REQUESTS_H_
#define FERRY_BENCH_SOAK_SOAK_REQUESTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/client/model_client.h"
#include "bench/client/request_pool.h"
#include "bench/soak/soak_load.h"

namespace ferry::bench {

struct PreparedSoak {
  SoakRequests requests;
  std::vector<inference::ModelInferResponse> references;  // of right ones
};

// Sends each right request once, alone. Errors: those of MakeRequest() and of
// the server. REQUIRES: max_rows >= 1.
absl::StatusOr<PreparedSoak> PrepareSoak(const ModelClient& client,
                                         const ModelDescription& description,
                                         const RequestPoolOptions& options,
                                         int32_t max_rows);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SOAK_SOAK_REQUESTS_H_
