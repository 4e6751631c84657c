// Implements ApplyOverrides: puts flags over a config, completes the message.
#include "models/config/model_overrides.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

absl::Status OverrideBatchSize(int32_t rows, ConfigOrigin origin,
                               ModelOptions& options) {
  const int32_t configured = options.spec.max_batch_size;
  const bool is_open = configured == 0 && options.spec.inputs.empty();
  const bool is_too_many = origin == ConfigOrigin::kFolder && rows > configured;
  if (rows < 1 || (!is_open && (configured == 0 || is_too_many))) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", options.name,
                     "': max_batch_size: expected 1 to the "
                     "config's ",
                     configured, ", got ", rows));
  }
  options.spec.max_batch_size = rows;
  if (options.enough_rows > rows) {
    options.enough_rows = 0;
  }
  std::vector<int32_t>& buckets = options.buckets;
  if (!buckets.empty()) {
    buckets.erase(std::lower_bound(buckets.begin(), buckets.end(), rows),
                  buckets.end());
    buckets.push_back(rows);
  }
  return absl::OkStatus();
}

void SetParameter(const char* key, const std::string& value,
                  inference::ModelConfig& message) {
  (*message.mutable_parameters())[key].set_string_value(value);
}

// Writes what flags say.
void Keep(const ModelOverrides& overrides, ModelConfig& config) {
  inference::ModelConfig& kept = config.kept;
  if (overrides.max_batch_size.has_value()) {
    SetMaxBatchSize(config.options.spec.max_batch_size, kept);
    if (kept.parameters().contains("ferry.buckets")) {
      SetParameter("ferry.buckets", absl::StrJoin(config.options.buckets, ","),
                   kept);
    }
  }
  if (overrides.max_wait.has_value()) {
    SetMaxWait(*overrides.max_wait, kept);
  }
  if (overrides.policy.has_value()) {
    SetParameter("ferry.policy", PolicyName(*overrides.policy), kept);
  }
  if (overrides.threads.has_value() && RunsOnTorch(config.options.backend)) {
    SetParameter("ferry.threads", absl::StrCat(*overrides.threads), kept);
  }
}

void Complete(ModelConfig& config) {
  const ModelOptions& options = config.options;
  inference::ModelConfig& message = config.message;
  SetMaxBatchSize(options.spec.max_batch_size, message);
  SetMaxWait(options.max_wait, message);
  if (message.instance_group().empty()) {
    message.add_instance_group();
  }
  for (auto& group : *message.mutable_instance_group()) {
    group.set_count(std::max(group.count(), 1));
  }
  SetParameter("ferry.policy", PolicyName(options.policy), message);
  SetParameter("ferry.weight", absl::StrCat(options.weight), message);
  if (RunsOnTorch(options.backend)) {
    SetParameter("ferry.threads", absl::StrCat(options.threads), message);
  }
  if (HasPrecision(options.backend)) {
    SetPrecision(options.precision, config);
  }
  if (!options.buckets.empty()) {
    SetParameter("ferry.buckets", absl::StrJoin(options.buckets, ","), message);
  }
}

}  // namespace

void SetMaxBatchSize(int32_t rows, inference::ModelConfig& message) {
  message.set_max_batch_size(rows);
  if (message.has_dynamic_batching()) {
    auto& sizes =
        *message.mutable_dynamic_batching()->mutable_preferred_batch_size();
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(),
                               [rows](int32_t size) { return size > rows; }),
                sizes.end());
  }
  for (auto& sample : *message.mutable_model_warmup()) {
    sample.set_batch_size(std::min(sample.batch_size(),
                                   static_cast<uint32_t>(std::max(rows, 1))));
  }
}

void SetMaxWait(Duration max_wait, inference::ModelConfig& message) {
  if (message.has_dynamic_batching()) {
    message.mutable_dynamic_batching()->set_max_queue_delay_microseconds(
        static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(max_wait)
                .count()));
  }
}

void SetPrecision(Precision precision, ModelConfig& config) {
  config.options.precision = precision;
  SetParameter("ferry.precision", PrecisionName(precision), config.message);
}

void FallBackTo(Precision precision, ModelConfig& config) {
  SetPrecision(precision, config);
  SetParameter("ferry.precision", PrecisionName(precision), config.kept);
}

void BatchRequestsAlone(ModelConfig& config) {
  config.options.batching = Batching::kOwnRowsOnly;
  config.options.buckets.clear();
  for (inference::ModelConfig* message : {&config.message, &config.kept}) {
    message->clear_dynamic_batching();
    message->mutable_parameters()->erase("ferry.buckets");
  }
}

absl::Status ApplyOverrides(const ModelOverrides& overrides,
                            ConfigOrigin origin, ModelConfig& config) {
  ModelOptions& options = config.options;
  if (overrides.max_batch_size.has_value()) {
    if (absl::Status status =
            OverrideBatchSize(*overrides.max_batch_size, origin, options);
        !status.ok()) {
      return status;
    }
  }
  options.max_wait = overrides.max_wait.value_or(options.max_wait);
  options.policy = overrides.policy.value_or(options.policy);
  options.threads = overrides.threads.value_or(options.threads);
  Keep(overrides, config);
  Complete(config);
  return absl::OkStatus();
}

}  // namespace ferry
