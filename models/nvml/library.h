// Library opens libnvidia-ml.so.1 at run time, so that one program runs with
// and without NVIDIA's driver.
//
// Every call goes through it and its code is counted. A call without success
// gives nothing: what a driver, a GPU or the user's rights do not allow to be
// read is absent, never 0.
//
// Thread safety: thread-safe, as NVML is (nvml.h says so).
// Errors: of Open(): NOT_FOUND where there is no such library,
// FAILED_PRECONDITION where it is none or does not start. A GPU or driver that
// is lost later makes values absent and is counted.
#ifndef FERRY_MODELS_NVML_LIBRARY_H_
#define FERRY_MODELS_NVML_LIBRARY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "models/nvml/abi.h"
#include "models/nvml/call_log.h"
#include "models/nvml/symbols.h"

namespace ferry::nvml {

inline constexpr char kLibraryName[] = "libnvidia-ml.so.1";

class Library {
 public:
  // Opens and starts it. The loader looks for a name without a folder.
  static absl::StatusOr<std::unique_ptr<Library>> Open(
      const std::string& file = kLibraryName);

  // The same with symbols from elsewhere, which outlive it.
  static absl::StatusOr<std::unique_ptr<Library>> Start(SymbolLookup lookup);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Symbols& symbols() const { return symbols_; }

  // Calls one of symbols() and counts its code; FUNCTION_NOT_FOUND where the
  // library lacks it.
  template <typename... Parameters, typename... Arguments>
  Code Call(const Function<Code(Parameters...)>& function, Subject subject,
            Arguments... arguments) const {
    const Code code = function.pointer == nullptr
                          ? Code::kFunctionNotFound
                          : function.pointer(arguments...);
    log_.Add(function.name, subject, code);
    return code;
  }

  // Returns what a function writes behind its last parameter.
  template <typename Value>
  std::optional<Value> Get(const Function<Code(DeviceHandle, Value*)>& function,
                           Subject subject, DeviceHandle device) const {
    Value value{};
    return Call(function, subject, device, &value) == Code::kSuccess
               ? std::optional<Value>(value)
               : std::nullopt;
  }

  // Returns a text of a device.
  std::optional<std::string> GetText(
      const Function<Code(DeviceHandle, char*, uint32_t)>& function,
      Subject subject, DeviceHandle device) const;

  std::optional<std::string> DriverVersion() const;
  std::optional<std::string> NvmlVersion() const;

  // Counts what is no call of its own, as the code of one GPM metric.
  void Count(const std::string& call, Subject subject, Code code) const {
    log_.Add(call, subject, code);
  }
  std::vector<CallCount> calls() const { return log_.Counts(); }

 private:
  explicit Library(SymbolLookup lookup) : symbols_{std::move(lookup)} {}

  absl::Status Init();
  std::optional<std::string> SystemText(
      const Function<Code(char*, uint32_t)>& function) const;

  const Symbols symbols_;
  mutable CallLog log_;
  bool is_started_ = false;
  void* handle_ =
      nullptr;  // of dlopen(); null where symbols are from elsewhere
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_LIBRARY_H_
