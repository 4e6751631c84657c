// ScriptFit makes of a TorchScript module the network that serves it: on its
// device, in its precision, frozen, packed, laid out, and compared with itself.
//
// In fp32 its parameters are cast, and its buffers where it does not run else:
// they are positions, frequencies or thresholds more often than weights. It
// runs some rows so (models/torch/network_probe.h). Then, in bf16:
//  1. its parameters are cast, its buffers stay as they are;
//  2. where that does not run or is too far from fp32, buffers are cast, too:
//     norms and inputs that are normalized have them beside weights;
//  3. where neither is near enough, bf16 does not serve.
// What cannot be compared, because it does not run in fp32 or draws numbers,
// has both cast.
//
// Thread safety: thread-compatible.
#ifndef FERRY_MODELS_TORCH_SCRIPT_SCRIPT_FIT_H_
#define FERRY_MODELS_TORCH_SCRIPT_SCRIPT_FIT_H_

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/config/model_options.h"
#include "models/load_report.h"
#include "models/torch/network.h"
#include "models/torch/network_probe.h"
#include "models/torch/script/torch_script.h"

namespace ferry {

// Module that is ready to run, and which of its inputs it is given with the
// channels last; empty: none.
struct PreparedModule {
  torch::jit::Module module;
  std::vector<bool> channels_last = {};  // [spec input]
};

class ScriptFit {
 public:
  using MakeNetwork =
      absl::FunctionRef<std::unique_ptr<Network>(PreparedModule)>;

  // All outlive it. Where rows are found to be mixed the options then say that
  // they are not.
  ScriptFit(ModelOptions& options, const ScriptTarget& target, MakeNetwork make,
            LoadReport& report);

  // INTERNAL, and report.why_not_bf16, where bf16 does not serve. Throws what
  // LibTorch throws.
  absl::StatusOr<std::unique_ptr<Network>> Run(torch::jit::Module module);

 private:
  // Casts the module to fp32, where it is not to be served as it is, and runs
  // rows there.
  void RunPlain(torch::jit::Module& module);
  std::unique_ptr<Network> Fresh(const torch::jit::Module& module) const;
  // INTERNAL where bf16 does not serve.
  absl::StatusOr<std::unique_ptr<Network>> MakeCompared(
      const torch::jit::Module& module);
  // `why_not`: channels last, where they were wanted.
  std::unique_ptr<Network> MakeLaidOut(const torch::jit::Module& frozen,
                                       std::string& why_not);
  PreparedModule Packed(torch::jit::Module module);

  ModelOptions& options_;
  const ScriptTarget& target_;
  const MakeNetwork make_;
  LoadReport& report_;
  NetworkProbe probe_;
  bool writes_to_itself_ = false;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_SCRIPT_FIT_H_
