// Warm-up, staging, compute, copying out.
#include "models/torch/torch_model.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "batcher/batch_buckets.h"
#include "models/failure_log.h"
#include "models/torch/cast.h"
#include "models/torch/cut_rows.h"
#include "models/torch/guarded.h"
#include "models/torch/shapes.h"
#include "models/torch/texts.h"
#include "models/torch/types.h"
#include "models/torch/warm_up.h"

namespace ferry {
namespace {

constexpr int32_t kMaxIdleOutputs = 8;

}  // namespace

TorchModel::TorchModel(std::shared_ptr<Network> network,
                       const ModelOptions& options)
    : network_(std::move(network)),
      options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      fit_(options_),
      pool_(options.spec.outputs.size(), kMaxIdleOutputs),
      places_(options.may_stage_ahead()
                  ? static_cast<size_t>(options.slots_per_lane())
                  : 1) {
  for (Place& place : places_) {
    place.inputs.resize(options.spec.inputs.size());
    for (size_t i = 0; i < place.inputs.size(); ++i) {
      place.rooms.emplace_back(options_, i, network_->input_type(i));
    }
  }
}

// --- warm-up -----------------------------------------------------------------

absl::Status TorchModel::WarmUp() {
  at::set_num_threads(options_.threads);
  const auto run_batch = [this](const Batch& batch) { return Run(batch); };
  const int runs = std::max(network_->warm_up_runs(), staging_places());
  ferry::WarmUp warm_up(options_, runs, run_batch);  // in each place
  const absl::Status status = warm_up.Run();
  warm_up_times_ = std::move(warm_up.times());
  warm_up_failure_ = warm_up.failure();
  options_.warm_up.clear();
  return status;
}

// Stages and computes; of what is thrown, says with which inputs.
absl::Status TorchModel::Run(const Batch& batch) {
  const Values& inputs = PlaceOf(staged_).inputs;
  absl::Status status = StageRows(batch);
  if (status.ok()) {
    OutputRef output;
    status = ComputeRows(batch, PlaceOf(computed_++).inputs, output);
  }
  return WithInputs(status, options_.spec, inputs);
}

// --- a batch -----------------------------------------------------------------

absl::Status TorchModel::StageRows(const Batch& batch) {
  return Guarded([&] {
    if (at::get_num_threads() != options_.threads) {
      at::set_num_threads(options_.threads);  // the first batch on this thread
    }
    Place& place = PlaceOf(staged_);
    for (size_t i = 0; i < place.inputs.size(); ++i) {
      place.inputs[i] = place.rooms[i].Stage(batch, BucketFor(batch.rows()));
    }
    ++staged_;
    return absl::OkStatus();
  });
}

absl::Status TorchModel::ComputeRows(const Batch& batch, const Values& inputs,
                                     OutputRef& output) {
  return Guarded([&] {
    absl::Status computed = Forward(inputs, BucketFor(batch.rows()));
    if (computed.ok()) {
      output = pool_.Take();
      CopyOut(batch, *output.get());
    }
    return computed;
  });
}

Outcome TorchModel::Stage(const Batch& batch) {
  const absl::Status status = StageRows(batch);
  if (!status.ok()) {
    LogModelFailure(options_.name, "stage", status.message());
    return {absl::StatusCode::kInternal, "the inputs could not be staged"};
  }
  return {};
}

Outcome TorchModel::Compute(const Batch& batch, OutputRef& output) {
  Values& inputs = PlaceOf(computed_++).inputs;
  const absl::Status status = ComputeRows(batch, inputs, output);
  outputs_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (options_.spec.inputs[i].type == DataType::kBytes) {
      inputs[i] = {};  // strings of their own, not a view of a room
    }
  }
  if (!status.ok()) {
    LogModelFailure(options_.name, "forward", status.message());
    return {absl::StatusCode::kInternal, "the model failed on this batch"};
  }
  return {};
}

int32_t TorchModel::BucketFor(int32_t rows) const {
  return PaddedRows(options_.buckets, rows);
}

absl::Status TorchModel::Forward(const Values& inputs, int32_t rows) {
  outputs_.clear();
  const absl::Status status = network_->Forward(inputs, outputs_);
  return status.ok() ? fit_.Fit(inputs, rows, outputs_) : status;
}

void TorchModel::CopyOut(const Batch& batch, OutputBuffer& buffer) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (options_.spec.outputs[i].follows.has_value()) {
      CopyCutRows(batch, options_.spec, i, outputs_[i].toTensor(), buffer);
    } else if (options_.spec.outputs[i].type == DataType::kBytes) {
      CopyTexts(outputs_[i], batch.rows(), fit_.text_dims(i), i, buffer);
    } else {
      CopyOut(batch.rows(), i, buffer);
    }
  }
}

void TorchModel::CopyOut(int32_t rows, size_t output, OutputBuffer& buffer) {
  const DataType type = options_.spec.outputs[output].type;
  const at::Tensor& all = outputs_[output].toTensor();
  // Rows that only filled the bucket come after those of the batch.
  const at::Tensor own =
      (has_rows_ && all.size(0) != rows ? all.narrow(0, 0, rows) : all)
          .contiguous();
  HostOutputPool::Layout(
      buffer, output, rows, type,
      SpanOf(has_rows_ ? own.sizes().slice(1) : own.sizes()));
  CastElements({own.data_ptr(), own.scalar_type()},
               {buffer.mutable_tensors()[output].data, ToScalarType(type)},
               own.numel());
}

}  // namespace ferry
