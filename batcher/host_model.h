// HostModel: what a HostBackend runs, one batch after the other, on the
// executor thread of one lane.
//
// Thread safety: created on any thread; WarmUp, Stage and Compute are called
// from one executor thread only, the destructor after it has ended. Stage and
// Compute of a model that runs_on_any_thread() may be called from others
// instead, both of a batch on the same one, one batch at a time. Stage of a
// model with several staging_places() may be called on another thread than
// Compute, one call at a time, also while the batch before it computes.
// Errors: an implementation may throw; its batch fails and the lane goes on.
#ifndef FERRY_BATCHER_HOST_MODEL_H_
#define FERRY_BATCHER_HOST_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "batcher/batch.h"
#include "batcher/output_buffer.h"
#include "batcher/service_time_model.h"
#include "batcher/tensor.h"

namespace ferry {

class HostModel {
 public:
  virtual ~HostModel() = default;

  virtual const ModelSpec& spec() const = 0;

  // Makes the model as fast as it will be: runs each batch bucket. An error
  // means that it must not serve.
  virtual absl::Status WarmUp() = 0;

  // Why nothing ran in WarmUp() where that is no error; else empty.
  virtual std::string warm_up_failure() const { return ""; }

  // How long batches took in WarmUp(), for first estimates; may be none.
  virtual absl::Span<const ServiceTimeSample> warm_up_samples() const {
    return {};
  }

  // Whether batches may run on other threads than WarmUp() did.
  virtual bool runs_on_any_thread() const { return false; }

  // How many batches may be staged and not computed, that included which is
  // computing.
  virtual int32_t staging_places() const { return 1; }

  // Gathers the batch's rows. When it returns, the received bytes of the
  // requests are no longer needed. One that fails takes no place.
  virtual Outcome Stage(const Batch& batch) = 0;

  // Computes what was staged first of what has not been computed. On success
  // `output` holds batch.rows() rows of every output. Its place is free again,
  // also when this fails or throws.
  virtual Outcome Compute(const Batch& batch, OutputRef& output) = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_HOST_MODEL_H_
