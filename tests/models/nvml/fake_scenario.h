// FakeScenario holds what the fake libnvidia-ml.so.1 plays: GPUs, MIG devices,
// series of values and codes, from a text.
//
// A line is a word and then name=value pairs; '#' begins a comment, '_' in a
// value stands for a space. Values that change are series, "50,60": the nth
// call gets the nth, the last one stays.
//
//   driver version=580.95.05
//   gpu uuid=GPU-... name=NVIDIA_H200 bus=00000000:1B:00.0 memory_mib=143771
//       mig=on|off|none pending=on|off places=7 gpm=yes|no power_mw=..
//       limit_mw=.. energy_mj=.. celsius=.. sm_mhz=.. memory_mhz=.. busy=..
//       memory_busy=.. used_mib=.. gpm.<id>=..        (one line in the file)
//   mig gpu=0 place=2 uuid=MIG-... name=.. gi=7 ci=0 sms=16 slices=1
//   memory_mib=..
//       used_mib=.. gpm.<id>=..        (one line)
//   code call=nvmlDeviceGetUUID code=4 [gpu=1] [of=gpu|mig]
//   lost after=20 code=15              every call past the 20th returns 15
//   hang while=PATH                    calls wait while that file is locked
//                                      (flock)
//
// Thread safety: thread-compatible.
// Errors: Read() returns what is wrong with the text.
#ifndef FERRY_TESTS_MODELS_NVML_FAKE_SCENARIO_H_
#define FERRY_TESTS_MODELS_NVML_FAKE_SCENARIO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ferry::nvml {

using Pairs = std::map<std::string, std::string>;

// A value that a device gives, by how often it was asked for.
class Series {
 public:
  void Set(const std::string& text);
  bool is_set() const { return !values_.empty(); }
  // REQUIRES: is_set().
  double Next();
  // The value of the nth moment, the last one after the end.
  double At(size_t n) const;

 private:
  std::vector<double> values_;
  size_t asked_ = 0;
};

// A GPU, or a MIG device of one.
struct FakeDevice {
  Pairs pairs;
  FakeDevice* gpu = nullptr;  // of a MIG device; null of a GPU
  uint32_t index = 0;         // of a GPU
  uint32_t place = 0;         // of a MIG device
  std::map<std::string, Series> series;
  size_t samples_taken = 0;

  bool is_mig() const { return gpu != nullptr; }
  std::string Text(const std::string& name) const;
  std::optional<uint64_t> Number(const std::string& name) const;
  // Returns the next value, or nothing where it has none.
  std::optional<double> Next(const std::string& name);
};

struct FakeCode {
  std::string call;
  int32_t code = 0;
  std::optional<uint32_t> gpu;
  std::string of;  // "gpu", "mig" or empty: both
};

struct FakeScenario {
  Pairs driver;
  // Never resized after Read(): handles point into them.
  std::vector<FakeDevice> gpus;
  std::vector<FakeDevice> migs;
  std::vector<FakeCode> codes;
  std::optional<size_t> lost_after;  // calls
  int32_t lost_code = 15;
  std::string hang_while;  // a path, or empty

  // Reads the file; nothing where it cannot be played.
  static std::optional<FakeScenario> Read(const std::string& path);
};

}  // namespace ferry::nvml

#endif  // FERRY_TESTS_MODELS_NVML_FAKE_SCENARIO_H_
