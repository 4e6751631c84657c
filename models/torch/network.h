// Network runs a forward pass on LibTorch, ready to serve; TorchModel calls it.
//
// Thread safety: Forward() from several threads at once, one for each instance;
// instances share the weights.
// Errors: Forward() may throw what LibTorch throws; callers run it Guarded().
#ifndef FERRY_MODELS_TORCH_NETWORK_H_
#define FERRY_MODELS_TORCH_NETWORK_H_

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "models/torch/division_guard.h"
#include "tensor/tensor.h"

namespace ferry {

// Tensors; of type BYTES lists of strings (models/torch/strings.h); nothing for
// inputs that the batch's requests leave out.
using Values = std::vector<c10::IValue>;

class Network {
 public:
  virtual ~Network() = default;

  // Computes one batch. `inputs` come in the order of the model's spec, each
  // [rows, ...] (no rows where the model does not batch), floats in the type
  // the network computes in (input_type()). `outputs` are left in the order of
  // the spec. An error where the forward gives other than the spec's outputs;
  // OUT_OF_RANGE where an input differs in a size only from what it takes.
  virtual absl::Status Forward(const Values& inputs, Values& outputs) = 0;

  // Type in which the network takes an input of the spec, where it is not the
  // model's precision (for floats) or the wire's.
  virtual std::optional<at::ScalarType> input_type(size_t /*input*/) const {
    return std::nullopt;
  }

  // Whether it takes images fastest with the channels last in memory. Its
  // inputs' shape is the same.
  virtual bool takes_channels_last(size_t /*input*/) const { return false; }

  // Whether its code may run on other threads than LibTorch's operators do.
  virtual bool has_own_threads() const { return false; }

  // Runs of each batch size until it is as fast as it will be.
  virtual int warm_up_runs() const { return 1; }
};

// Runs work on LibTorch without gradients. What it throws becomes INTERNAL, as
// AsFailure() has it, or RESOURCE_EXHAUSTED where a device had no memory
// (models/failure_reason.h). An integer division by zero in that thread, or in
// others (models/torch/division_guard.h), is INTERNAL, too.
absl::Status Guarded(absl::FunctionRef<absl::Status()> work,
                     FaultsOf faults_of = FaultsOf::kOtherThreads);

// Whether a device had no memory: LibTorch has an exception for its allocator,
// and texts for all else, as "CUDA error: out of memory" of a call of CUDA's.
bool IsOutOfMemory(const c10::Error& error);

// Returns copies of its tensors in the host's memory, and the rest as it is.
Values OnHost(const Values& values);

// Adds to an INTERNAL error with which inputs it was: "with 'x' [1,3]: ...".
absl::Status WithInputs(const absl::Status& status, const ModelSpec& spec,
                        const Values& inputs);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORK_H_
