// CpuModel is what a CpuInstance runs, one batch after the other.
//
// Thread safety: created on any thread; WarmUp, Gather and Compute are called
// on the instance's batcher thread only, the destructor after it has ended.
// Errors: an implementation may throw; its batch fails and the instance goes
// on.
#ifndef FERRY_BATCHER_CPU_MODEL_H_
#define FERRY_BATCHER_CPU_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "batcher/batch.h"
#include "batcher/service_time.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

class CpuModel {
 public:
  virtual ~CpuModel() = default;

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

  // Gathers the batch's rows.
  virtual Outcome Gather(const Batch& batch) = 0;

  // Computes what was gathered last. On success `output` holds batch.rows()
  // rows of every output.
  virtual Outcome Compute(const Batch& batch, OutputRef& output) = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_CPU_MODEL_H_
