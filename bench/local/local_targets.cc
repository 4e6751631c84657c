// Implements SimulatedTarget: Ferry's scheduler with simulated instances.
#include "bench/local/local_targets.h"

#include <utility>

#include "batcher/cpu_instance.h"

namespace ferry::bench {

absl::StatusOr<std::unique_ptr<SimulatedTarget>> SimulatedTarget::Create(
    const SimulatedTargetOptions& options) {
  std::unique_ptr<SimulatedTarget> target(new SimulatedTarget(options));
  std::vector<std::unique_ptr<Instance>> instances;
  for (int32_t i = 0; i < options.instances; ++i) {
    auto model = SimulatedModel::Create(
        {.inputs = {{"input", DataType::kFp32, target->dims_}},
         .outputs = {{"output", DataType::kFp32, target->dims_}},
         .max_batch_size = options.scheduler.max_batch_size},
        options.device);
    if (!model.ok()) {
      return model.status();
    }
    auto instance = CpuInstance::Create(*std::move(model));
    if (!instance.ok()) {
      return instance.status();
    }
    instances.push_back(*std::move(instance));
  }
  auto scheduler = Scheduler::Create(std::move(instances), options.scheduler);
  if (!scheduler.ok()) {
    return scheduler.status();
  }
  const RequestInputs brought = {.inputs = target->inputs_,
                                 .rows = options.rows,
                                 .bytes = target->rows_.size()};
  target->target_ = std::make_unique<BatcherTarget>(
      *std::move(scheduler), std::vector<RequestInputs>{brought},
      BatcherTarget::Options{.timeout = options.timeout});
  return target;
}

SimulatedTarget::SimulatedTarget(const SimulatedTargetOptions& options)
    : dims_{options.row_floats},
      rows_(static_cast<size_t>(options.rows) *
            static_cast<size_t>(options.row_floats) * sizeof(float)),
      segment_{rows_.data(), rows_.size()},
      inputs_{TensorView{.dims = dims_, .segments = {&segment_, 1}}} {}

}  // namespace ferry::bench
