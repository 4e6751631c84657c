// Implements TorchModel: warm-up, gather, compute, copy out.
#include "models/torch/torch_model.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "batcher/batch_buckets.h"
#include "models/failure_log.h"
#include "models/torch/cast.h"
#include "models/torch/cut_rows.h"
#include "models/torch/shapes.h"
#include "models/torch/strings.h"
#include "models/torch/types.h"
#include "models/torch/warm_up.h"
#include "models/type_failures.h"

namespace ferry {
namespace {

constexpr int32_t kMaxIdleOutputs = 8;

}  // namespace

TorchModel::TorchModel(std::shared_ptr<Network> network,
                       const ModelOptions& options)
    : network_(std::move(network)),
      options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      faults_of_(options.threads > 1 || network_->has_own_threads()
                     ? FaultsOf::kOtherThreads
                     : FaultsOf::kThisThread),
      fit_(options_),
      pool_(options.spec.outputs.size(), kMaxIdleOutputs),
      inputs_(options.spec.inputs.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    staging_.emplace_back(options_, i, network_->input_type(i));
  }
}

// --- warm-up -----------------------------------------------------------------

absl::Status TorchModel::WarmUp() {
  at::set_num_threads(options_.threads);
  const auto run_batch = [this](const Batch& batch) { return Run(batch); };
  ferry::WarmUp warm_up(options_, network_->warm_up_runs(),
                        MadeUpIntegers::kAny, run_batch);
  const absl::Status status = warm_up.Run();
  warm_up_times_ = std::move(warm_up.times());
  warm_up_failure_ = warm_up.failure();
  options_.warm_up.clear();
  options_.must_run.reset();  // clients' rows
  if (!status.ok() || !warm_up_failure_.empty()) {
    LogLoadTrace(options_.name, first_failure_);
  }
  return status;
}

// Gathers and computes; an error says with which inputs.
absl::Status TorchModel::Run(const Batch& batch) {
  absl::Status status = GatherInputs(batch);
  if (status.ok()) {
    OutputRef output;
    status = ComputeRows(batch, output);
  }
  first_failure_.Update(status);
  return WithInputs(status, options_.spec, inputs_);
}

// --- a batch -----------------------------------------------------------------

absl::Status TorchModel::GatherInputs(const Batch& batch) {
  return Guarded(
      [&] {
        for (size_t i = 0; i < inputs_.size(); ++i) {
          inputs_[i] = staging_[i].Stage(batch, BucketFor(batch.rows()));
        }
        return absl::OkStatus();
      },
      faults_of_);
}

absl::Status TorchModel::ComputeRows(const Batch& batch, OutputRef& output) {
  return Guarded(
      [&] {
        absl::Status computed = Forward(BucketFor(batch.rows()));
        if (computed.ok()) {
          output = pool_.Take();
          CopyOut(batch, *output.get());
        }
        return computed;
      },
      faults_of_);
}

Outcome TorchModel::Gather(const Batch& batch) {
  const absl::Status status = GatherInputs(batch);
  if (!status.ok()) {
    return {absl::StatusCode::kInternal, "the inputs could not be gathered",
            LogModelFailure(options_.name, "gather", status)};
  }
  return {};
}

Outcome TorchModel::Compute(const Batch& batch, OutputRef& output) {
  const absl::Status status = ComputeRows(batch, output);
  outputs_.clear();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (options_.spec.inputs[i].type == DataType::kBytes) {
      inputs_[i] =
          {};  // strings of their own, not a view of the staging buffer
    }
  }
  if (!status.ok()) {
    if (options_.type_failures != nullptr) {
      options_.type_failures->Note(batch, status.message(),
                                   Clock::Steady().Now());
    }
    return {absl::StatusCode::kInternal, "the model failed on this batch",
            LogModelFailure(options_.name, "forward", status)};
  }
  return {};
}

int32_t TorchModel::BucketFor(int32_t rows) const {
  return PaddedRows(options_.buckets, rows);
}

absl::Status TorchModel::Forward(int32_t rows) {
  outputs_.clear();
  const absl::Status status = network_->Forward(inputs_, outputs_);
  return status.ok() ? fit_.Fit(inputs_, rows, outputs_) : status;
}

void TorchModel::CopyOut(const Batch& batch, OutputBuffer& buffer) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (options_.spec.outputs[i].follows.has_value()) {
      CopyCutRows(batch, options_.spec, i, outputs_[i].toTensor(), buffer);
    } else if (options_.spec.outputs[i].type == DataType::kBytes) {
      CopyStrings(outputs_[i], batch.rows(), fit_.string_dims(i), i, buffer);
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
