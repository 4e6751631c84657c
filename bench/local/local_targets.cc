// The batcher on lanes that are simulated.
#include "bench/local/local_targets.h"

#include <utility>

#include "batcher/host_backend.h"

namespace ferry::bench {

absl::StatusOr<std::unique_ptr<SimulatedTarget>> SimulatedTarget::Create(
    const SimulatedTargetOptions& options) {
  std::unique_ptr<SimulatedTarget> target(new SimulatedTarget(options));
  std::vector<std::unique_ptr<HostModel>> lanes;
  for (int32_t lane = 0; lane < options.lanes; ++lane) {
    auto model = SimulatedModel::Create(
        {.inputs = {{"input", DataType::kFp32, target->dims_}},
         .outputs = {{"output", DataType::kFp32, target->dims_}},
         .max_batch_size = options.batcher.max_batch_size},
        options.device);
    if (!model.ok()) {
      return model.status();
    }
    lanes.push_back(*std::move(model));
  }
  auto backend = HostBackend::Create(std::move(lanes), {});
  if (!backend.ok()) {
    return backend.status();
  }
  auto batcher = Batcher::Create(*std::move(backend), options.batcher);
  if (!batcher.ok()) {
    return batcher.status();
  }
  const RequestInputs brought = {.inputs = target->inputs_,
                                 .rows = options.rows,
                                 .bytes = target->rows_.size()};
  target->target_ = std::make_unique<BatcherTarget>(
      *std::move(batcher), std::vector<RequestInputs>{brought},
      BatcherTarget::Options{.timeout = options.timeout});
  return target;
}

SimulatedTarget::SimulatedTarget(const SimulatedTargetOptions& options)
    : dims_{options.row_floats},
      rows_(static_cast<size_t>(options.rows) *
            static_cast<size_t>(options.row_floats) * sizeof(float)),
      run_{rows_.data(), rows_.size()},
      inputs_{TensorView{.dims = dims_, .runs = {&run_, 1}}} {}

}  // namespace ferry::bench
