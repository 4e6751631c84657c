// EchoModel: a HostModel whose output i is its input i. No device, no LibTorch:
// what it takes to serve it is what the server itself costs.
//
// Thread safety: that of HostModel.
#ifndef FERRY_BATCHER_SIM_ECHO_MODEL_H_
#define FERRY_BATCHER_SIM_ECHO_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "batcher/host_model.h"
#include "batcher/host_output_pool.h"

namespace ferry {

class EchoModel : public HostModel {
 public:
  // INVALID_ARGUMENT where an output differs from its input in type or shape,
  // or there are not as many outputs as inputs, or an input is optional.
  static absl::StatusOr<std::unique_ptr<EchoModel>> Create(ModelSpec spec);

  // Returns what Create() would refuse.
  static absl::Status CheckSpec(const ModelSpec& spec);

  const ModelSpec& spec() const override { return spec_; }
  absl::Status WarmUp() override { return absl::OkStatus(); }
  bool runs_on_any_thread() const override { return true; }
  int32_t staging_places() const override {
    return static_cast<int32_t>(staged_.size());
  }
  Outcome Stage(const Batch& batch) override;
  Outcome Compute(const Batch& batch, OutputRef& output) override;

 protected:
  // REQUIRES: CheckSpec(spec) is ok.
  explicit EchoModel(ModelSpec spec);

 private:
  const ModelSpec spec_;
  HostOutputPool pool_;
  // Rows are gathered straight into their reply. Places are used in turn.
  std::array<OutputRef, 16> staged_;
  uint64_t staged_count_ = 0;    // whoever stages
  uint64_t computed_count_ = 0;  // whoever computes
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_ECHO_MODEL_H_
