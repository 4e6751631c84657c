// ListDevices lists the GPUs of this machine (or container) and their MIG
// devices, as NVML sees them.
//
// Thread safety: plain values; ListDevices() may be called from any thread.
// Errors: of ListDevices(): UNAVAILABLE where the GPUs cannot be counted. A GPU
// that cannot be looked at is in `unread`, MIG devices that cannot be are told
// of by their GPU; what else cannot be read is absent.
#ifndef FERRY_MODELS_NVML_DEVICES_H_
#define FERRY_MODELS_NVML_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/nvml/library.h"

namespace ferry::nvml {

// A part of a GPU with processors and memory of its own.
struct MigDevice {
  uint32_t place = 0;  // on its GPU; places in between may be empty
  std::string uuid;    // MIG-...
  std::string name;
  std::string profile;  // "1g.18gb"; empty where it cannot be told
  std::optional<uint32_t> gpu_instance;
  std::optional<uint32_t> compute_instance;
  std::optional<uint32_t> multiprocessor_count;
  std::optional<uint64_t> memory_bytes;
};

struct Gpu {
  uint32_t index = 0;  // as nvidia-smi counts: by PCI bus id
  std::string uuid;    // GPU-...
  std::string name;
  std::string pci_bus_id;  // as in sysfs: 0000:1b:00.0; empty: not told
  // Nothing: the GPU has no MIG.
  std::optional<bool> is_mig_on;
  // It may have MIG, and does not tell: then it is not taken as a whole.
  bool is_mig_unread = false;
  std::optional<bool> will_mig_be_on;  // after the GPU's next reset
  std::optional<uint64_t> memory_bytes;
  std::vector<MigDevice> mig_devices;  // by place
  // Why some of them could not be listed; nothing: all are.
  std::optional<Code> mig_devices_unread;
};

struct UnreadGpu {
  uint32_t index = 0;
  Code code = Code::kSuccess;  // why
};

struct Devices {
  std::vector<Gpu> gpus;  // by index
  std::vector<UnreadGpu> unread;
};

absl::StatusOr<Devices> ListDevices(const Library& library);

// Returns all of it in one line: "GPU 0 GPU-8a.. (NVIDIA H200, MIG on):
// MIG-3f.. 1g.18gb, MIG-51.. 1g.18gb; GPU 1 ..."; "no GPU" where there is none.
std::string Describe(const Devices& devices);

// Returns the PCI bus id of NVML, 00000000:1B:00.0, as sysfs writes it,
// 0000:1b:00.0.
std::string ToSysfsBusId(const std::string& bus_id);

// Returns the profile of a MIG device: what its name ends with ("NVIDIA H200
// MIG 1g.18gb"), else what its attributes come to where the GPU's memory is
// known, else nothing. By attributes, the memory's share of the GPU's is
// rounded up to an eighth, and that of the GPU's whole GiB to a number, as
// go-nvlib does (NVIDIA/go-nvlib, pkg/nvlib/device/mig_profile.go); +me and the
// like are not told then.
std::string MigProfile(const std::string& name,
                       const std::optional<DeviceAttributes>& attributes,
                       const std::optional<uint64_t>& gpu_memory_bytes);

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_DEVICES_H_
