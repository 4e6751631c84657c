// EchoModel is a CpuModel whose output i is its input i. No device, no
// LibTorch: what it takes to serve it is what the server itself costs.
//
// Thread safety: that of CpuModel.
#ifndef FERRY_BATCHER_SIM_ECHO_MODEL_H_
#define FERRY_BATCHER_SIM_ECHO_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "batcher/cpu_model.h"
#include "tensor/host_output_pool.h"

namespace ferry {

class EchoModel : public CpuModel {
 public:
  // INVALID_ARGUMENT where an output differs from its input in type or shape,
  // or there are not as many outputs as inputs, or an input is optional.
  static absl::StatusOr<std::unique_ptr<EchoModel>> Create(ModelSpec spec);

  // Returns what Create() would refuse.
  static absl::Status CheckSpec(const ModelSpec& spec);

  const ModelSpec& spec() const override { return spec_; }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  Outcome Gather(const Batch& batch) override;
  Outcome Compute(const Batch& batch, OutputRef& output) override;

 protected:
  // REQUIRES: CheckSpec(spec) is ok.
  explicit EchoModel(ModelSpec spec);

 private:
  const ModelSpec spec_;
  HostOutputPool pool_;
  OutputRef gathered_;  // rows are gathered straight into their reply
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_ECHO_MODEL_H_
