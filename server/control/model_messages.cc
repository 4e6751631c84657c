// Implements the messages about models: fills them from specs and counters.
#include "server/control/model_messages.h"

#include <chrono>

#include "models/repository/served_model.h"
#include "server/version.h"
#include "tensor/data_type.h"

namespace ferry {
namespace {

using TensorMetadata = inference::ModelMetadataResponse::TensorMetadata;

void FillTensor(const TensorSpec& spec, bool has_batch_dim,
                TensorMetadata& tensor) {
  tensor.set_name(spec.name);
  tensor.set_datatype(DataTypeName(spec.type));
  if (has_batch_dim) {
    tensor.add_shape(kAnySize);
  }
  for (int64_t dim : spec.dims) {
    tensor.add_shape(dim);
  }
}

void FillDuration(uint64_t count, uint64_t ns,
                  inference::StatisticDuration& duration) {
  duration.set_count(count);
  duration.set_ns(ns);
}

// The moment of a monotonic time in milliseconds since the epoch. The only
// wall clock outside log lines: the protocol wants it.
uint64_t ToEpochMilliseconds(TimePoint time, TimePoint now) {
  const auto wall = std::chrono::system_clock::now() - (now - time);
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          wall.time_since_epoch())
          .count());
}

// Those that were refused had no time to speak of.
void FillInferStatistics(const BatchStatistics& served, uint64_t failed,
                         inference::InferStatistics& statistics) {
  const uint64_t ok = served.ok_requests();
  FillDuration(ok, served.request_time.sum(), *statistics.mutable_success());
  FillDuration(failed, served.failed_ns.value(), *statistics.mutable_fail());
  FillDuration(ok, served.queue_wait.sum(), *statistics.mutable_queue());
  FillDuration(ok, served.stage_ns_of_requests.value(),
               *statistics.mutable_compute_input());
  FillDuration(ok, served.compute_ns_of_requests.value(),
               *statistics.mutable_compute_infer());
  FillDuration(ok, served.deliver.sum(), *statistics.mutable_compute_output());
  // There is no cache; clients read the fields all the same.
  statistics.mutable_cache_hit();
  statistics.mutable_cache_miss();
}

}  // namespace

void FillServerMetadata(inference::ServerMetadataResponse& metadata) {
  metadata.set_name("ferry");
  metadata.set_version(kVersion);
  metadata.add_extensions("model_repository");
  metadata.add_extensions("model_configuration");
  metadata.add_extensions("schedule_policy");  // priority and timeout
  metadata.add_extensions("classification");
  metadata.add_extensions("parameters");
  metadata.add_extensions("statistics");
  metadata.add_extensions("trace");
  metadata.add_extensions("logging");
}

absl::StatusOr<inference::ModelMetadataResponse> FindMetadata(
    const ModelTable& models, const std::string& name,
    const std::string& version) {
  const absl::StatusOr<ModelUse> entry = models.Find(name, version);
  if (!entry.ok()) {
    return entry.status();
  }
  const ServedModel& model = (*entry)->model();
  const bool has_batch_dim = model.spec.max_batch_size > 0;
  inference::ModelMetadataResponse metadata;
  metadata.set_name(model.name);
  metadata.set_platform(model.platform);
  for (const TensorSpec& input : model.spec.inputs) {
    FillTensor(input, has_batch_dim, *metadata.add_inputs());
  }
  for (const TensorSpec& output : model.spec.outputs) {
    FillTensor(output, has_batch_dim, *metadata.add_outputs());
  }
  for (const ModelUse& other : models.UseAll()) {
    if (other->model().name == name &&
        (version.empty() || &*other == &**entry)) {
      metadata.add_versions(other->version);
    }
  }
  return metadata;
}

absl::StatusOr<bool> IsModelReady(const ModelTable& models,
                                  const Readiness& readiness,
                                  const std::string& name,
                                  const std::string& version) {
  const absl::StatusOr<ModelUse> entry = models.Find(name, version);
  // Triton answers so, too: clients wait in a loop for a model that is loading.
  if (absl::IsInvalidArgument(entry.status())) {
    return entry.status();
  }
  return entry.ok() && readiness.takes_requests() && !(*entry)->is_overdue &&
         !(*entry)->model().scheduler->is_device_lost();
}

void FillModelStatistics(const ModelEntry& entry, const ModelCounts& counts,
                         TimePoint now,
                         inference::ModelStatistics& statistics) {
  const SchedulerStatistics& counted = counts.counted;
  const BatchStatistics& served = counted.served;
  statistics.set_name(entry.model().name);
  statistics.set_version(entry.version);
  if (counted.last_arrival != TimePoint()) {
    statistics.set_last_inference(
        ToEpochMilliseconds(counted.last_arrival, now));
  }
  statistics.set_inference_count(served.ok_rows.value());
  FillInferStatistics(served, RefusedRequests(counts) + FailedRequests(served),
                      *statistics.mutable_inference_stats());
  uint64_t executions = 0;
  for (size_t rows = 1; rows < served.by_rows.size(); ++rows) {
    const BatchSizeStatistics& size = served.by_rows[rows];
    const uint64_t batches = size.batches.value();
    if (batches == 0) {
      continue;
    }
    executions += batches;
    inference::InferBatchStatistics& batch = *statistics.add_batch_stats();
    batch.set_batch_size(rows);
    FillDuration(batches, size.stage_ns.value(),
                 *batch.mutable_compute_input());
    FillDuration(batches, size.compute_ns.value(),
                 *batch.mutable_compute_infer());
    FillDuration(batches, size.deliver_ns.value(),
                 *batch.mutable_compute_output());
  }
  statistics.set_execution_count(executions);
}

}  // namespace ferry
