// Implements CallLog, and names the codes.
#include "models/nvml/call_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry::nvml {
namespace {

constexpr std::pair<Code, const char*> kNames[] = {
    {Code::kSuccess, "SUCCESS"},
    {Code::kUninitialized, "UNINITIALIZED"},
    {Code::kInvalidArgument, "INVALID_ARGUMENT"},
    {Code::kNotSupported, "NOT_SUPPORTED"},
    {Code::kNoPermission, "NO_PERMISSION"},
    {Code::kAlreadyInitialized, "ALREADY_INITIALIZED"},
    {Code::kNotFound, "NOT_FOUND"},
    {Code::kInsufficientSize, "INSUFFICIENT_SIZE"},
    {Code::kInsufficientPower, "INSUFFICIENT_POWER"},
    {Code::kDriverNotLoaded, "DRIVER_NOT_LOADED"},
    {Code::kTimeout, "TIMEOUT"},
    {Code::kIrqIssue, "IRQ_ISSUE"},
    {Code::kLibraryNotFound, "LIBRARY_NOT_FOUND"},
    {Code::kFunctionNotFound, "FUNCTION_NOT_FOUND"},
    {Code::kCorruptedInforom, "CORRUPTED_INFOROM"},
    {Code::kGpuIsLost, "GPU_IS_LOST"},
    {Code::kResetRequired, "RESET_REQUIRED"},
    {Code::kOperatingSystem, "OPERATING_SYSTEM"},
    {Code::kLibRmVersionMismatch, "LIB_RM_VERSION_MISMATCH"},
    {Code::kInUse, "IN_USE"},
    {Code::kMemory, "MEMORY"},
    {Code::kNoData, "NO_DATA"},
    {Code::kVgpuEccNotSupported, "VGPU_ECC_NOT_SUPPORTED"},
    {Code::kInsufficientResources, "INSUFFICIENT_RESOURCES"},
    {Code::kFreqNotSupported, "FREQ_NOT_SUPPORTED"},
    {Code::kArgumentVersionMismatch, "ARGUMENT_VERSION_MISMATCH"},
    {Code::kDeprecated, "DEPRECATED"},
    {Code::kNotReady, "NOT_READY"},
    {Code::kGpuNotFound, "GPU_NOT_FOUND"},
    {Code::kInvalidState, "INVALID_STATE"},
    {Code::kResetTypeNotSupported, "RESET_TYPE_NOT_SUPPORTED"},
    {Code::kUnknown, "UNKNOWN"},
};

}  // namespace

std::string CodeName(Code code) {
  const auto known =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [code](const auto& name) { return name.first == code; });
  return known == std::end(kNames)
             ? absl::StrCat("CODE_", static_cast<int32_t>(code))
             : known->second;
}

const char* SubjectName(Subject subject) {
  return subject == Subject::kGpu   ? "gpu"
         : subject == Subject::kMig ? "mig"
                                    : "system";
}

void CallLog::Add(const std::string& call, Subject subject, Code code) {
  MutexLock lock(mutex_);
  ++counts_[Key(call, subject, code)];
}

std::vector<CallCount> CallLog::Counts() const {
  MutexLock lock(mutex_);
  std::vector<CallCount> result;
  for (const auto& [key, count] : counts_) {
    const auto& [call, subject, code] = key;
    result.push_back({call, subject, code, count});
  }
  return result;
}

}  // namespace ferry::nvml
