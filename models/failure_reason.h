// AsFailure() finds in what an exception says the reason, which comes behind
// pages of trace where TorchScript throws; TellsOutOfMemory() reads one that is
// told as another.
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_FAILURE_REASON_H_
#define FERRY_MODELS_FAILURE_REASON_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ferry {

// Returns INTERNAL with the reason alone: of "The following operation failed in
// the TorchScript interpreter. ... RuntimeError: index out of range in self"
// the last line's. A reason of several lines stays whole, up to 1,000 bytes.
// The rest of `what` goes along, for TraceOf().
absl::Status AsFailure(absl::string_view what);

// Returns what AsFailure() left out; empty where there was nothing, or where
// the status was made anew since.
std::string TraceOf(const absl::Status& status);

// Whether that text says that a device, or a library of CUDA, had no memory:
// what throws it says no more where TorchScript has caught it. LibTorch's
// allocator first asks NVML for the processes that have the memory, and throws
// an assertion where NVML refuses, as on a slice.
bool TellsOutOfMemory(absl::string_view what);

// Returns a number for the failures of a model for one reason, whatever numbers
// stand in the reason: the same in each process, never 0.
uint32_t ReasonCode(absl::string_view model, absl::string_view reason);

}  // namespace ferry

#endif  // FERRY_MODELS_FAILURE_REASON_H_
