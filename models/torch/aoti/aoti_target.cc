// Implements CheckAotiTarget: holds torch's metadata against the processor.
#include "models/torch/aoti/aoti_target.h"

#include <ATen/cpu/Utils.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace ferry {
namespace {

constexpr char kPlatform[] = "linux";
constexpr char kNoVectors[] = "INVALID_VEC_ISA";

std::string Value(const AotiMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

absl::Status DoesNotFit(const std::string& needed, const std::string& found) {
  return absl::FailedPreconditionError(
      absl::StrCat("it is compiled for ", needed, ", ", found,
                   ": compile it where it is served"));
}

// Whether the device runs code of that compute capability: of the same major
// digits, and a minor one that is no higher (CUDA C++ Programming Guide, binary
// compatibility). What is not noted may fit.
bool RunsOn(const std::string& architecture, const std::string& compiled_for) {
  int here = 0;
  int there = 0;
  if (!absl::SimpleAtoi(architecture, &here) ||
      !absl::SimpleAtoi(compiled_for, &there)) {
    return true;
  }
  return here / 10 == there / 10 && here >= there;
}

std::set<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

std::set<std::string> ReadCpuFlags() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (absl::StartsWith(line, "flags")) {
      return Words(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    }
  }
  return {};
}

// Returns the words of `needed` that `found` lacks.
std::set<std::string> Missing(const std::set<std::string>& needed,
                              const std::set<std::string>& found) {
  std::set<std::string> missing;
  std::set_difference(needed.begin(), needed.end(), found.begin(), found.end(),
                      std::inserter(missing, missing.end()));
  return missing;
}

}  // namespace

Processor Processor::Here() {
  Processor here;
  utsname system{};
  here.machine = uname(&system) == 0 ? system.machine : "";
  here.flags = ReadCpuFlags();
#if defined(__x86_64__)
  // Torch compiles for these instructions where it says each of its words.
  const bool has_avx2 = __builtin_cpu_supports("avx2") &&
                        __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw");
  if (has_avx2) {
    here.instructions.insert("AVX2");
  }
  if (has_avx512) {
    here.instructions.insert("AVX512");
  }
  if (has_avx512 && __builtin_cpu_supports("avx512vnni")) {
    here.instructions.insert("AVX512_VNNI");
  }
  if (at::cpu::init_amx()) {
    here.instructions.insert("AMX_TILE");
  }
#elif defined(__aarch64__)
  here.instructions.insert("ASIMD");
#endif
  return here;
}

absl::Status CheckAotiTarget(const AotiMetadata& metadata,
                             const Processor& processor) {
  const std::string device = Value(metadata, "AOTI_DEVICE_KEY");
  if (device != processor.device) {
    return DoesNotFit(absl::StrCat("device '", device, "'"),
                      absl::StrCat("expected '", processor.device, "'"));
  }
  const std::string compiled_for = Value(metadata, "AOTI_COMPUTE_CAPABILITY");
  if (!RunsOn(processor.architecture, compiled_for)) {
    return DoesNotFit(absl::StrCat("compute capability ", compiled_for),
                      absl::StrCat("this device has ", processor.architecture));
  }
  const std::string platform = Value(metadata, "AOTI_PLATFORM");
  const std::string machine = Value(metadata, "AOTI_MACHINE");
  if (platform != kPlatform || machine != processor.machine) {
    return DoesNotFit(
        absl::StrCat(platform, " on ", machine),
        absl::StrCat("expected ", kPlatform, " on ", processor.machine));
  }
  std::set<std::string> needed = Words(Value(metadata, "AOTI_CPU_ISA"));
  needed.erase(kNoVectors);
  std::set<std::string> missing = Missing(needed, processor.instructions);
  const std::set<std::string> flags = Words(Value(metadata, kCpuFlagsKey));
  missing.merge(Missing(flags, processor.flags));
  needed.insert(flags.begin(), flags.end());
  if (!missing.empty()) {
    return DoesNotFit(
        absl::StrJoin(needed, " "),
        absl::StrCat("this processor has no ", absl::StrJoin(missing, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace ferry
