// ModelRequests makes requests to a model of this process, of the contents that
// ferry-bench sends to a server with the same flags and seed.
//
// Thread safety: const after Make().
#ifndef FERRY_BENCH_INPROCESS_MODEL_REQUESTS_H_
#define FERRY_BENCH_INPROCESS_MODEL_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/scheduler.h"
#include "bench/client/request_pool.h"
#include "bench/local/batcher_target.h"
#include "models/repository/served_model.h"

namespace ferry::bench {

class ModelRequests {
 public:
  // At least one request. `model` outlives it. INVALID_ARGUMENT where contents
  // and model do not fit, as MakeRequest() and ReadPayload() say it.
  static absl::StatusOr<std::unique_ptr<ModelRequests>> Make(
      const ServedModel& model, const RequestPoolOptions& options);

  ~ModelRequests();

  // Each points here.
  const std::vector<RequestInputs>& inputs() const { return inputs_; }

  // ContentAdvice() of them.
  const std::string& advice() const { return advice_; }

 private:
  class One;

  ModelRequests();

  std::vector<std::unique_ptr<One>> requests_;
  std::vector<RequestInputs> inputs_;
  std::string advice_;
};

// Sends the request and waits for its answer, for as long as that takes;
// warm-up had zeros, which some models take where they do not take what is
// sent. Errors: the answer's; INTERNAL where it has not the request's rows.
absl::Status CheckFirstAnswer(Scheduler& scheduler,
                              const RequestInputs& request);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_INPROCESS_MODEL_REQUESTS_H_
