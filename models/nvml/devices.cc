// Implements ListDevices: walks over GPUs and the indexes of their MIG devices.
#include "models/nvml/devices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry::nvml {
namespace {

// More than any GPU of today has: a bound on what a broken library may say.
constexpr uint32_t kMaxGpus = 1024;
constexpr uint32_t kMaxMigDevices = 64;

std::optional<uint64_t> TotalMemory(const Library& library, Subject subject,
                                    DeviceHandle device) {
  const Symbols& nvml = library.symbols();
  MemoryV2 memory{};
  memory.version = StructVersion(sizeof(memory), 2);
  if (library.Call(nvml.memory_v2, subject, device, &memory) ==
      Code::kSuccess) {
    return memory.total_bytes;
  }
  const std::optional<Memory> old = library.Get(nvml.memory, subject, device);
  return old.has_value() ? std::optional<uint64_t>(old->total_bytes)
                         : std::nullopt;
}

Code ReadUuid(const Library& library, Subject subject, DeviceHandle device,
              std::string& out) {
  char uuid[kUuidSize] = {};
  const uint32_t size = sizeof(uuid);
  const Code code =
      library.Call(library.symbols().uuid, subject, device, &uuid[0], size);
  out.assign(uuid, strnlen(uuid, sizeof(uuid)));
  return code;
}

MigDevice ReadMig(const Library& library, DeviceHandle handle, const Gpu& gpu) {
  const Symbols& nvml = library.symbols();
  MigDevice mig;
  mig.name =
      library.GetText(nvml.device_name, Subject::kMig, handle).value_or("");
  const std::optional<DeviceAttributes> attributes =
      library.Get(nvml.attributes, Subject::kMig, handle);
  if (attributes.has_value()) {
    mig.multiprocessor_count = attributes->multiprocessor_count;
  }
  mig.profile = MigProfile(mig.name, attributes, gpu.memory_bytes);
  mig.gpu_instance = library.Get(nvml.gpu_instance, Subject::kMig, handle);
  mig.compute_instance =
      library.Get(nvml.compute_instance, Subject::kMig, handle);
  mig.memory_bytes = TotalMemory(library, Subject::kMig, handle);
  if (!mig.memory_bytes.has_value() && attributes.has_value()) {
    mig.memory_bytes = attributes->memory_mib << 20;
  }
  return mig;
}

// Leaves out what has no UUID, by which alone it could be chosen.
void ListMig(const Library& library, DeviceHandle parent, Gpu& gpu) {
  const Symbols& nvml = library.symbols();
  uint32_t places = 0;
  if (const Code code =
          library.Call(nvml.max_mig_devices, Subject::kGpu, parent, &places);
      code != Code::kSuccess) {
    gpu.mig_devices_unread = code;
    return;
  }
  for (uint32_t place = 0; place < std::min(places, kMaxMigDevices); ++place) {
    DeviceHandle handle = nullptr;
    Code code =
        library.Call(nvml.mig_by_index, Subject::kGpu, parent, place, &handle);
    if (code == Code::kNotFound) {
      continue;  // an empty place
    }
    std::string uuid;
    if (code == Code::kSuccess) {
      code = ReadUuid(library, Subject::kMig, handle, uuid);
    }
    if (code != Code::kSuccess) {
      gpu.mig_devices_unread = code;
      continue;
    }
    MigDevice mig = ReadMig(library, handle, gpu);
    mig.place = place;
    mig.uuid = std::move(uuid);
    gpu.mig_devices.push_back(std::move(mig));
  }
}

// Fills all but the index and the UUID.
void ReadGpu(const Library& library, DeviceHandle handle, Gpu& gpu) {
  const Symbols& nvml = library.symbols();
  gpu.name =
      library.GetText(nvml.device_name, Subject::kGpu, handle).value_or("");
  if (const auto pci = library.Get(nvml.pci_info, Subject::kGpu, handle)) {
    gpu.pci_bus_id = ToSysfsBusId(
        std::string(pci->bus_id, strnlen(pci->bus_id, kBusIdSize)));
  }
  gpu.memory_bytes = TotalMemory(library, Subject::kGpu, handle);
  uint32_t is_on = kMigDisabled;
  uint32_t will_be_on = kMigDisabled;
  const Code code =
      library.Call(nvml.mig_mode, Subject::kGpu, handle, &is_on, &will_be_on);
  gpu.is_mig_unread = code != Code::kSuccess && code != Code::kNotSupported &&
                      code != Code::kFunctionNotFound;
  if (code == Code::kSuccess) {
    gpu.is_mig_on = is_on == kMigEnabled;
    gpu.will_mig_be_on = will_be_on == kMigEnabled;
    if (*gpu.is_mig_on) {
      ListMig(library, handle, gpu);
    }
  }
}

}  // namespace

absl::StatusOr<Devices> ListDevices(const Library& library) {
  const Symbols& nvml = library.symbols();
  uint32_t count = 0;
  const Code counted =
      library.Call(nvml.device_count, Subject::kSystem, &count);
  if (counted != Code::kSuccess) {
    return absl::UnavailableError(
        absl::StrCat("expected ", nvml.device_count.name,
                     " to count the GPUs, got ", CodeName(counted)));
  }
  Devices devices;
  for (uint32_t index = 0; index < std::min(count, kMaxGpus); ++index) {
    DeviceHandle handle = nullptr;
    Code code =
        library.Call(nvml.device_by_index, Subject::kGpu, index, &handle);
    Gpu gpu;
    gpu.index = index;
    if (code == Code::kSuccess) {
      code = ReadUuid(library, Subject::kGpu, handle, gpu.uuid);
    }
    if (code != Code::kSuccess) {
      devices.unread.push_back({index, code});
      continue;
    }
    ReadGpu(library, handle, gpu);
    devices.gpus.push_back(std::move(gpu));
  }
  return devices;
}

}  // namespace ferry::nvml
