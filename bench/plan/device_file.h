// DeviceFile has what devices are said to have: memory, its bandwidth, and
// arithmetic.
//
// Thread safety: plain values and free functions over them.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_DEVICE_FILE_H_
#define FERRY_BENCH_PLAN_DEVICE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry::plan {

// What a device or a slice of one has.
struct DeviceSpec {
  std::string name;
  double memory_gib = 0;            // 2^30 bytes
  double memory_gb_per_second = 0;  // 1e9 bytes; 0: not said
  // 1e12 operations a second of the tensor cores on dense 16-bit types; 0: not
  // said.
  double tflops = 0;
};

struct DeviceFile {
  std::string source;  // where its numbers are from
  std::vector<DeviceSpec> devices;
};

// Reads {"source", "devices": [{"name", "memory_gib", "memory_gb_per_second",
// "tflops"}, ..]}, of which the last two may be missing; `name` is for
// messages. Refuses unknown keys, and two devices of one name.
absl::StatusOr<DeviceFile> ParseDevices(const std::string& text,
                                        const std::string& name);

// Lists those that there are where there is none of that name.
absl::StatusOr<DeviceSpec> FindDevice(const DeviceFile& file,
                                      const std::string& name);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_DEVICE_FILE_H_
