// CallLog counts what NVML's functions have returned: for
// ferry_nvml_errors_total and for the table that ferry-nvml prints.
//
// Thread safety: thread-safe.
// Invariants: at most one entry for each function, kind of device and code.
#ifndef FERRY_MODELS_NVML_CALL_LOG_H_
#define FERRY_MODELS_NVML_CALL_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "models/nvml/abi.h"

namespace ferry::nvml {

// Returns a code as NVML's documentation has it, without NVML_ERROR_:
// "SUCCESS", "NOT_SUPPORTED"; "CODE_<n>" where it is not known here.
std::string CodeName(Code code);

// What a call was about: nothing in particular, a whole GPU, or a MIG device.
enum class Subject : uint8_t { kSystem, kGpu, kMig };

// Returns "system", "gpu" or "mig".
const char* SubjectName(Subject subject);

struct CallCount {
  std::string call;  // the function; of GPM's metrics also which, after a space
  Subject subject = Subject::kSystem;
  Code code = Code::kSuccess;
  uint64_t count = 0;

  friend bool operator==(const CallCount&, const CallCount&) = default;
};

class CallLog {
 public:
  void Add(const std::string& call, Subject subject, Code code);

  // By call, subject and code.
  std::vector<CallCount> Counts() const;

 private:
  using Key = std::tuple<std::string, Subject, Code>;

  mutable Mutex mutex_;
  std::map<Key, uint64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_CALL_LOG_H_
