// ApplyOverrides puts what flags say over what a model's config says.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_CONFIG_MODEL_OVERRIDES_H_
#define FERRY_MODELS_CONFIG_MODEL_OVERRIDES_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "base/clock.h"
#include "batcher/batch_policy.h"
#include "models/config/model_config.h"

namespace ferry {

// Where set, the flag wins.
struct ModelOverrides {
  // Rows; for a model of a folder at most the config's,
  // where it says one.
  std::optional<int32_t> max_batch_size;
  std::optional<Duration> max_wait;
  std::optional<PolicyKind> policy;
  std::optional<int32_t> threads;  // intra-op threads of one instance
  std::optional<int32_t> queue_requests;
  std::optional<int64_t> queue_bytes;
};

// Where a config comes from: a model's folder, this program, its flags.
enum class ConfigOrigin { kFolder, kEmbedded, kFlags };

// Sets it in the message, and takes out what may not be more.
void SetMaxBatchSize(int32_t rows, inference::ModelConfig& message);

// Sets it in a message that has dynamic batching.
void SetMaxWait(Duration max_wait, inference::ModelConfig& message);

// Sets it in the options and in the message.
void SetPrecision(Precision precision, ModelConfig& config);

// The same where the config does not choose it, and in what one would keep.
void FallBackTo(Precision precision, ModelConfig& config);

// Takes back, in options and messages, that requests share batches and that
// batches are padded: for a model that mixes rows.
void BatchRequestsAlone(ModelConfig& config);

// Applies the overrides to the options, and completes the message with
// everything that is then in force. INVALID_ARGUMENT where a flag asks for what
// the model does not have.
absl::Status ApplyOverrides(const ModelOverrides& overrides,
                            ConfigOrigin origin, ModelConfig& config);

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_MODEL_OVERRIDES_H_
