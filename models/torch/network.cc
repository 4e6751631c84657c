// Implements Guarded() and the other functions over a Network's values.
#include "models/torch/network.h"

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include <exception>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "models/failure_reason.h"

namespace ferry {
namespace {

absl::Status Failure(absl::string_view what, bool is_out_of_memory) {
  absl::Status failure = AsFailure(what);
  return is_out_of_memory ? absl::ResourceExhaustedError(failure.message())
                          : failure;
}

}  // namespace

absl::Status Guarded(absl::FunctionRef<absl::Status()> work,
                     FaultsOf faults_of) {
  try {
    const c10::InferenceMode no_gradients;
    const DivisionGuard divisions(faults_of);
    absl::Status status = work();
    return divisions.has_faulted()
               ? absl::InternalError(
                     "it divided an integer by zero, or the smallest one by -1")
               : status;
  } catch (const c10::Error& error) {
    return Failure(error.what_without_backtrace(), IsOutOfMemory(error));
  } catch (const std::exception& error) {
    return Failure(error.what(), TellsOutOfMemory(error.what()));
  }
}

bool IsOutOfMemory(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         TellsOutOfMemory(error.what_without_backtrace());
}

Values OnHost(const Values& values) {
  Values copies = values;
  for (c10::IValue& value : copies) {
    if (value.isTensor()) {
      value = value.toTensor().to(at::kCPU, /*non_blocking=*/false,
                                  /*copy=*/true);
    }
  }
  return copies;
}

absl::Status WithInputs(const absl::Status& status, const ModelSpec& spec,
                        const Values& inputs) {
  if (!absl::IsInternal(status)) {
    return status;
  }
  std::vector<std::string> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) {
      shapes.push_back(
          absl::StrCat("'", spec.inputs[i].name, "' [",
                       absl::StrJoin(inputs[i].toTensor().sizes(), ","), "]"));
    }
  }
  return absl::InternalError(absl::StrCat("with ", absl::StrJoin(shapes, ", "),
                                          ": ", status.message()));
}

}  // namespace ferry
