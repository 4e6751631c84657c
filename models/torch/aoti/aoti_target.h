// CheckAotiTarget checks that a package was compiled for this processor.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_MODELS_TORCH_AOTI_AOTI_TARGET_H_
#define FERRY_MODELS_TORCH_AOTI_AOTI_TARGET_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace ferry {

// What is noted of a package's target: by torch under its names
// ("AOTI_CPU_ISA",
// ...), and by the program that exports it under kCpuFlagsKey.
using AotiMetadata = std::map<std::string, std::string>;

// Flags of /proc/cpuinfo that the package may use. Torch notes which vectors
// its kernels use, but lets the compiler use whatever its own machine has.
inline constexpr char kCpuFlagsKey[] = "FERRY_CPU_FLAGS";

struct Processor {
  std::string machine;                 // "x86_64", "aarch64"
  std::set<std::string> instructions;  // in torch's words: "AVX2", "AMX_TILE"
  std::set<std::string> flags;         // of /proc/cpuinfo

  // Where the code runs that the processor starts: "cpu" or "cuda".
  std::string device = "cpu";
  // A GPU's compute capability, major and minor digits: "90".
  std::string architecture = {};

  // The one that runs this. Asks the system for leave to use AMX.
  static Processor Here();
};

// OK where a package with that metadata runs on `processor`;
// FAILED_PRECONDITION with what it needs and what there is.
absl::Status CheckAotiTarget(const AotiMetadata& metadata,
                             const Processor& processor);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_AOTI_TARGET_H_
