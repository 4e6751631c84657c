// LoadTorchScript loads TorchScript models (.pt files) as networks.
//
// A module is loaded, put in evaluation, cast to the config's precision
// (floats alone, models/torch/script/cast_module.h), frozen, prepared and, in
// bf16, compared with itself in fp32 (models/torch/script/script_fit.h): its
// linear layers then run on oneDNN's own weight layout
// (models/torch/script/pack_linear.h). Its convolutions of 16-bit floats run
// with the channels last in memory where that changes nothing
// (models/torch/script/channels_last.h); outputs have the order of their shapes
// all the same.
//
// Inputs of the config are the arguments of forward(), by name, or by the index
// in "NAME__<index>", or in order; or all in one dict, by name. Outputs are a
// tensor, or a tuple or list of them in the config's order (or by
// "NAME__<index>"), or a dict or named tuple with the config's names; there may
// be more of them than the config has. What the config leaves out is found:
// models/torch/script/complete_spec.h.
//
// Thread safety: free function.
// A .pt file is a program: serve files of trusted origin only.
#ifndef FERRY_MODELS_TORCH_SCRIPT_TORCH_SCRIPT_H_
#define FERRY_MODELS_TORCH_SCRIPT_TORCH_SCRIPT_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/config/model_options.h"
#include "models/load_report.h"
#include "models/torch/network.h"

namespace ferry {

// In which order convolutions have an image's elements in memory.
enum class ScriptLayout : uint8_t {
  kChannelsFirst,
  kChannelsLast,  // where that changes nothing but the time
};

struct ScriptTarget {
  at::Device device = at::kCPU;
  ScriptLayout layout = ScriptLayout::kChannelsLast;
};

// Loads the file at `path` to the target's device; completes options.spec, and
// takes back batching across requests where rows depend on each other.
// NOT_FOUND where there is none; INVALID_ARGUMENT where it is no TorchScript
// file or its forward() takes other inputs than the spec's; INTERNAL and
// report.why_not_bf16 where it runs in fp32 and bf16 does not serve.
absl::StatusOr<std::unique_ptr<Network>> LoadTorchScript(
    const std::string& path, ModelOptions& options, const ScriptTarget& target,
    LoadReport& report);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_TORCH_SCRIPT_H_
