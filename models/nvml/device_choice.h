// Choose picks the device that a process serves: it holds what --device says
// against what NVML sees. Pure: no environment, no file, no CUDA.
//
// Thread safety: plain values and functions.
// Guarantees:
// 1. A choice is one device, named by its whole UUID: CUDA's own order of GPUs
//    (CUDA_DEVICE_ORDER) never matters.
// 2. cuda:N never means a part of a GPU: with MIG on it is refused, since what
//    CUDA would show as device 0 is then some slice of it.
// 3. A CUDA_VISIBLE_DEVICES that is set is a bound: nothing outside is chosen.
// 4. `only` is the one GPU without MIG or the one MIG device there is, and an
//    error where there are several. What cannot be read is none: it is warned
//    of, unless the process has no permission for it, as for others' GPUs.
// Errors: INVALID_ARGUMENT for a text that names no device, NOT_FOUND for one
// that NVML does not see, FAILED_PRECONDITION for one that cannot be taken as
// it is. What fails against devices ends with the list of what NVML sees.
#ifndef FERRY_MODELS_NVML_DEVICE_CHOICE_H_
#define FERRY_MODELS_NVML_DEVICE_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "models/nvml/devices.h"

namespace ferry::nvml {

struct DeviceSelector {
  enum class Kind : uint8_t { kCpu, kOnly, kCudaIndex, kGpuUuid, kMigUuid };

  Kind kind = Kind::kCpu;
  uint32_t index = 0;  // kCudaIndex
  // With GPU- or MIG-; the beginning of one is enough where it fits one device.
  std::string uuid;
};

// Reads cpu, only, cuda:N, GPU-<uuid> or MIG-<uuid>.
absl::StatusOr<DeviceSelector> ParseDevice(absl::string_view text);

struct DeviceChoice {
  std::string uuid;         // whole; what CUDA_VISIBLE_DEVICES is set to
  std::string parent_uuid;  // of the GPU that a MIG device is part of, or empty
  std::string name;
  std::string profile;  // of a MIG device, or empty
  std::string pci_bus_id;
  // NVML does not tell the multiprocessors of a whole GPU; CUDA does.
  std::optional<uint32_t> multiprocessor_count;
  std::optional<uint64_t> memory_bytes;
  // How many compute instances share that memory, as far as NVML shows them.
  size_t memory_sharers = 1;
  std::vector<std::string> warnings;  // for the log

  bool is_mig() const { return !parent_uuid.empty(); }
  // Returns the whole GPU's.
  const std::string& gpu_uuid() const { return is_mig() ? parent_uuid : uuid; }
};

// Finds the device. `visible` is CUDA_VISIBLE_DEVICES where it is set: of
// UUIDs, cuda:N is then its Nth entry. REQUIRES: selector.kind is not kCpu.
absl::StatusOr<DeviceChoice> Choose(
    const DeviceSelector& selector, const Devices& devices,
    const std::optional<std::string>& visible = std::nullopt);

// Checks what CUDA sees after its start: exactly the device that was chosen.
// `seen` are UUIDs, with or without GPU- or MIG- before them.
absl::Status CheckVisible(const DeviceChoice& choice,
                          absl::Span<const std::string> seen,
                          const Devices& devices);

// Returns `uuid=... profile=...` and so on, for the log; what is absent is left
// out.
std::string Describe(const DeviceChoice& choice);

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_DEVICE_CHOICE_H_
