// ModelOptions holds what a config says about one model, in checked values.
//
// Thread safety: plain values.
#ifndef FERRY_MODELS_CONFIG_MODEL_OPTIONS_H_
#define FERRY_MODELS_CONFIG_MODEL_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "batcher/batch_policy.h"
#include "batcher/scheduler_options.h"
#include "batcher/sim/simulated_model.h"
#include "models/config/normalization.h"
#include "models/config/warm_up_sample.h"
#include "tensor/tensor.h"

namespace ferry {

class KeptBatch;
class TypeFailures;

enum class BackendKind : uint8_t {
  kTorchScript,  // a .pt file
  kAotInductor,  // a .pt2 file
  kNetwork,      // a network of models/torch/networks
  kSimulated,    // batcher/sim, of a given service time
  kEcho,         // batcher/sim
};

// Whether a model is of Triton's backend 'pytorch': a file that torch wrote.
inline bool IsPytorch(BackendKind backend) {
  return backend == BackendKind::kTorchScript ||
         backend == BackendKind::kAotInductor;
}

// Whether LibTorch computes its batches, on the device that the process has.
inline bool RunsOnTorch(BackendKind backend) {
  return IsPytorch(backend) || backend == BackendKind::kNetwork;
}

// Whether its config may choose what it computes in.
inline bool HasPrecision(BackendKind backend) {
  return backend == BackendKind::kTorchScript ||
         backend == BackendKind::kNetwork;
}

// Type of weights and matrix kernels. Tensors on the wire keep their own.
// kNative: of TorchScript, as the file has it; floats go in as they come. A
// .pt2 file has the types it was compiled with, whatever this says.
enum class Precision : uint8_t { kBf16, kFp32, kNative };

inline constexpr Precision kPrecisions[] = {Precision::kBf16, Precision::kFp32,
                                            Precision::kNative};

// Returns it as a config writes it.
inline const char* PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp32:
      return "fp32";
    default:
      return "native";
  }
}

// The inverse of PrecisionName().
inline std::optional<Precision> ParsePrecision(absl::string_view text) {
  for (const Precision precision : kPrecisions) {
    if (text == PrecisionName(precision)) {
      return precision;
    }
  }
  return std::nullopt;
}

// Whether rows of different requests share a batch.
enum class Batching : uint8_t { kOwnRowsOnly, kAcrossRequests };

// Which numbered version folders are served.
struct VersionChoice {
  enum class Kind : uint8_t { kLatest, kAll, kSpecific };

  Kind kind = Kind::kLatest;
  int64_t latest_count = 1;
  std::vector<int64_t> versions;  // with kSpecific
};

struct ModelOptions {
  std::string name;
  BackendKind backend = BackendKind::kTorchScript;
  ModelSpec spec;
  // [tensor of the spec]: dims of one row as the model takes or gives them,
  // where they are not the wire's; the wire's sizes that vary take the places
  // of kAnySize in order. Empty where no tensor is reshaped.
  using Reshapes = std::vector<std::optional<std::vector<int64_t>>>;
  Reshapes input_reshapes;
  Reshapes output_reshapes;
  // [spec input]: of those that are; empty where none is.
  std::vector<std::optional<Normalization>> normalizations;
  // [spec output]: a file in the model's folder that names its classes, or "".
  std::vector<std::string> label_files;
  VersionChoice versions;
  std::string file;  // in the version folder; empty: the backend's default

  Batching batching = Batching::kOwnRowsOnly;
  PolicyKind policy = PolicyKind::kEager;
  Duration max_wait{0};
  bool preserve_ordering = false;
  int32_t enough_rows = 0;                  // as in SchedulerOptions
  std::vector<LevelOptions> levels = {{}};  // of priority, urgent first
  int32_t default_level = 0;
  std::vector<int32_t> buckets;  // ascending rows a batch is padded to, or none
  bool use_graphs = true;        // on a device that has them
  bool use_channels_last = true;  // for convolutions, where they suit

  int32_t instance_count = 1;
  double weight = 1;    // of the device's time, against other models
  int32_t threads = 1;  // intra-op threads of one instance
  Precision precision = Precision::kBf16;
  bool is_precision_chosen = false;   // by the config; else a default
  double precision_tolerance = 0.05;  // of bf16 against fp32: as a ProbeError
  std::vector<WarmUpSample> warm_up;  // run before it is ready; none: zeros
  // What instance_group says of devices, in any of its groups.
  bool names_cpu = false;
  bool names_gpu = false;
  bool names_gpus = false;  // several for one group
  // What else the config says that has no effect here: "field 'metric_tags'".
  std::vector<std::string> notes;

  std::string network;               // with kNetwork: "mlp", "encoder", ...
  std::vector<int64_t> widths;       // of the mlp: input, hidden ..., output
  std::string weights;               // a .safetensors file; empty: seeded
  SimulatedModelOptions simulation;  // with kSimulated

  // --- of a load, not of the config ---
  // Rows without which it does not serve; null: none.
  std::shared_ptr<const KeptBatch> must_run;
  // Shared by what runs batches and what may load it in fp32; null: its
  // precision is that of the config, or no other serves.
  std::shared_ptr<TypeFailures> type_failures;
};

}  // namespace ferry

#endif  // FERRY_MODELS_CONFIG_MODEL_OPTIONS_H_
