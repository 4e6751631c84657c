// NvmlDevice reads a device of this machine through NVML, for servers on the
// same machine that tell nothing of it.
//
// Thread safety: thread-compatible.
// Errors: of Open(): INVALID_ARGUMENT for a text that names no device; those of
// nvml::Library::Open(), ListDevices() and Choose(), with what NVML sees; none
// names the flag that the text is of.
#ifndef FERRY_BENCH_DEVICE_NVML_DEVICE_H_
#define FERRY_BENCH_DEVICE_NVML_DEVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/device/device_reading.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/library.h"

namespace ferry::bench {

class NvmlDevice final : public DeviceSource {
 public:
  // `text`: N (or cuda:N), the GPU's number as nvidia-smi counts, GPU-<uuid> or
  // MIG-<uuid>. Where MIG is on, a slice must be named.
  static absl::StatusOr<std::unique_ptr<NvmlDevice>> Open(
      const std::string& text, const std::string& library = nvml::kLibraryName);

  std::optional<DeviceReading> Read() override;

 private:
  NvmlDevice(std::unique_ptr<nvml::Library> library, DeviceIdentity device,
             std::unique_ptr<nvml::DeviceSampler> sampler);

  const std::unique_ptr<nvml::Library> library_;
  const DeviceIdentity device_;
  const std::unique_ptr<nvml::DeviceSampler> sampler_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_NVML_DEVICE_H_
