// UnpackAotiPackage unpacks a .pt2 file of torch's aoti_compile_and_package.
//
// It is a zip with a shared library, its generated source and metadata. Torch's
// own loader (AOTIModelPackageLoader) starts a compiler where the library is
// missing, leaves its unpacked files behind where loading fails, and checks no
// target; so Ferry unpacks and torch's runner loads. For a device, it has
// kernels too (.cubin), which are read from the folder when they first run.
//
// Thread safety: free function and plain values.
// A package is native code: serve files of trusted origin only.
#ifndef FERRY_MODELS_TORCH_AOTI_AOTI_PACKAGE_H_
#define FERRY_MODELS_TORCH_AOTI_AOTI_PACKAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/torch/aoti/aoti_inputs.h"
#include "models/torch/aoti/aoti_target.h"

namespace ferry {

struct AotiPackage {
  std::vector<AotiInput> inputs;
  std::string library;  // path of the unpacked one
  bool has_parallel_regions = false;
};

// Unpacks the package at `path` into `folder`, which has to be there as long as
// the package where it is for a device. NOT_FOUND where there is no
// file; INVALID_ARGUMENT where it is no package that can be served;
// FAILED_PRECONDITION where it was compiled for another processor.
absl::StatusOr<AotiPackage> UnpackAotiPackage(const std::string& path,
                                              const Processor& processor,
                                              const std::string& folder);

// The error of a package that comes without its weights.
absl::Status NoWeights();

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_AOTI_PACKAGE_H_
