// DeviceReading is what one device said of itself at one moment. DeviceSource
// gives readings, from NVML (NvmlDevice) or a server's metrics (MetricsDevice).
//
// Thread safety: plain values; a source is asked by one thread at a time.
// Invariants: what was not told is absent, never 0.
#ifndef FERRY_BENCH_DEVICE_DEVICE_READING_H_
#define FERRY_BENCH_DEVICE_DEVICE_READING_H_

#include <optional>

#include "base/clock.h"
#include "bench/device/device_summary.h"
#include "models/nvml/device_sampler.h"

namespace ferry::bench {

struct DeviceReading {
  TimePoint at;     // when it was read
  Duration age{0};  // how long before that it may have been measured
  DeviceIdentity device;
  nvml::DeviceReadings values;
};

class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // Returns nothing where the source is silent or has no device. May take some
  // seconds where a server does.
  virtual std::optional<DeviceReading> Read() = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_DEVICE_READING_H_
