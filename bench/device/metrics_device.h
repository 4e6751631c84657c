// MetricsDevice reads the device from a server's metrics: Ferry's
// (docs/devices.md), which are of the one device that its process serves, or
// Triton's (its user guide, "Metrics"), which are of each GPU that it sees.
//
// Where a Triton has several GPUs, memory, power and energy are sums, the
// utilization a mean; each where all of them tell it. Triton renews its values
// every 2 s (--metrics-interval-ms).
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_DEVICE_METRICS_DEVICE_H_
#define FERRY_BENCH_DEVICE_METRICS_DEVICE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "bench/device/device_reading.h"

namespace ferry::bench {

// Returns what a page tells of a device, without when; nothing where it tells
// of none.
std::optional<DeviceReading> ParseDevicePage(absl::string_view page);

class MetricsDevice final : public DeviceSource {
 public:
  // `address`: host:port of the metrics.
  explicit MetricsDevice(std::string address) : address_(std::move(address)) {}

  std::optional<DeviceReading> Read() override;

 private:
  const std::string address_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_METRICS_DEVICE_H_
