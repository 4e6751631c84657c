// Device chooses the GPU or MIG device that this process serves on, before CUDA
// starts.
//
// Open() finds it through NVML, Claim() makes it the only one that CUDA will
// see. CUDA itself is no business of this file.
//
// Thread safety: const after Claim() and LearnMultiprocessors(); sampler() and
// library() are thread-safe.
// Errors: of Open(): as nvml::Library::Open() and nvml::Choose(); the flag and
// what NVML sees are in the message.
#ifndef FERRY_MODELS_DEVICE_H_
#define FERRY_MODELS_DEVICE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/nvml/device_choice.h"
#include "models/nvml/device_sampler.h"
#include "models/nvml/library.h"
#include "models/nvml/numa_node.h"

namespace ferry {

// What CUDA reads when it starts.
inline constexpr char kVisibleDevices[] = "CUDA_VISIBLE_DEVICES";

// Where the machine is asked; tests have places of their own.
struct DeviceSources {
  std::string nvml = nvml::kLibraryName;
  std::string sysfs = nvml::kSysfs;
};

class Device {
 public:
  // `visible` is CUDA_VISIBLE_DEVICES where it is set.
  // REQUIRES: selector.kind is not kCpu.
  static absl::StatusOr<std::unique_ptr<Device>> Open(
      const nvml::DeviceSelector& selector,
      const std::optional<std::string>& visible,
      const DeviceSources& sources = {});

  // Sets CUDA_VISIBLE_DEVICES to its UUID, and binds the calling thread, and so
  // those that it starts, to the processors of the device's NUMA node where
  // that is known. Returns why it could not bind; then the threads run
  // anywhere. REQUIRES: called in main before any thread and before CUDA is
  // opened.
  absl::Status Claim() const;

  // Takes what CUDA tells of the device where NVML does not, as of a whole GPU;
  // returns whether it was unknown. REQUIRES: called before other threads use
  // choice().
  bool LearnMultiprocessors(int count);

  const nvml::DeviceChoice& choice() const { return choice_; }
  std::optional<int> numa_node() const { return numa_node_; }
  const nvml::Library& library() const { return *library_; }
  nvml::DeviceSampler& sampler() const { return *sampler_; }

  // `uuid=... profile=... numa_node=...`, for the log.
  std::string Describe() const;

 private:
  Device(std::unique_ptr<nvml::Library> library, nvml::DeviceChoice choice,
         std::unique_ptr<nvml::DeviceSampler> sampler,
         const std::string& sysfs);

  const std::unique_ptr<nvml::Library> library_;
  nvml::DeviceChoice choice_;
  const std::unique_ptr<nvml::DeviceSampler> sampler_;
  const std::string sysfs_;
  const std::optional<int> numa_node_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_DEVICE_H_
