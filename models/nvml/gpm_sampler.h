// GpmSampler reads GPM's counters of one device (Hopper and newer): means over
// the time between two samples.
//
// Thread safety: thread-compatible.
// Invariants: a metric that NVML did not give, or gave as no finite number, is
// absent.
#ifndef FERRY_MODELS_NVML_GPM_SAMPLER_H_
#define FERRY_MODELS_NVML_GPM_SAMPLER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "models/nvml/library.h"

namespace ferry::nvml {

// Ratios are of 1. For a MIG device they refer to the slice.
struct GpmReadings {
  std::optional<double> graphics_ratio;      // time with any work
  std::optional<double> sm_ratio;            // multiprocessors that were busy
  std::optional<double> sm_occupancy_ratio;  // warps, of those that fit
  std::optional<double> tensor_ratio;        // time in tensor operations
  std::optional<double> hmma_ratio;          // in those of 16-bit floats
  std::optional<double> dram_ratio;          // bandwidth, of the most there is
  std::optional<double> pcie_sent_bytes_per_second;
  std::optional<double> pcie_received_bytes_per_second;
};

class GpmSampler {
 public:
  // Samples closer to each other than this tell nothing, says NVML.
  static constexpr Duration kMinInterval = std::chrono::milliseconds(100);

  // Takes the first sample. `gpu` is the device itself or the GPU that the MIG
  // device is part of, null where it is not told. All outlive it.
  GpmSampler(const Library& library, DeviceHandle device, Subject subject,
             DeviceHandle gpu, const Clock& clock);
  ~GpmSampler();
  GpmSampler(const GpmSampler&) = delete;
  GpmSampler& operator=(const GpmSampler&) = delete;

  // Returns the means since the last call that was longer than kMinInterval
  // after the one before; sooner, what that call returned. All absent where the
  // GPU has no GPM.
  GpmReadings Read();

 private:
  // How a sample is taken: of a MIG device through its GPU, or by its own
  // handle. The first that works stays, as samples of two kinds may not be
  // compared.
  enum class Way : uint8_t { kThroughGpu, kByHandle };

  bool IsSupported() const;
  bool Take(GpmSampleHandle sample, Way way) const;
  bool TakeFirst();
  GpmReadings Means();

  const Library& library_;
  const DeviceHandle device_;
  const Subject subject_;
  const DeviceHandle gpu_;
  const Clock& clock_;
  std::optional<uint32_t> gpu_instance_;  // of a MIG device
  // Null where there is no GPM, or no memory for it.
  GpmSampleHandle older_ = nullptr;
  GpmSampleHandle newer_ = nullptr;
  std::optional<TimePoint> taken_;  // when older_ was
  Way way_ = Way::kByHandle;        // once taken_ is set
  GpmReadings last_;
  std::unique_ptr<GpmMetricsGet> query_;
};

}  // namespace ferry::nvml

#endif  // FERRY_MODELS_NVML_GPM_SAMPLER_H_
