// DeviceMeans makes a DeviceSummary of the readings of a window.
//
// Thread safety: thread-compatible.
// Invariants: memory is bounded, however many readings there are.
#ifndef FERRY_BENCH_DEVICE_DEVICE_MEANS_H_
#define FERRY_BENCH_DEVICE_DEVICE_MEANS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bench/device/device_reading.h"
#include "bench/device/device_summary.h"

namespace ferry::bench {

DeviceFacts FactsOf(const DeviceReading& reading);

// Each reading speaks for the time since the one before it, so the first only
// begins the window: NVML's ratios, and the watts of newer GPUs, are means over
// the time before they are read. What may have been measured before the window
// does not count, and a value that is told of less than half of the window is
// absent.
//
// Energy is the difference of a counter. There is none where the counter may be
// a twentieth of the window old, or stood still for as long: Triton renews it
// every 2 s. Power is energy over time, else the mean of what was read.
class DeviceMeans {
 public:
  // In order of time.
  void Add(const DeviceReading& reading);

  // Returns nothing before there are two readings.
  std::optional<DeviceSummary> Summary() const;

 private:
  static constexpr size_t kMeans = 8;

  struct Mean {
    double sum = 0;  // of value * seconds
    double seconds = 0;
  };

  void AddEnergy(const std::optional<double>& joules, double seconds);
  std::optional<double> Energy() const;

  std::string name_;
  std::optional<TimePoint> begin_;
  TimePoint last_;
  Duration age_{0};                 // of the readings
  std::array<Mean, kMeans> means_;  // in the order of their table
  // Joules of the counter; nothing once a reading lacked it or went back.
  std::optional<double> first_energy_;
  std::optional<double> last_energy_;
  double still_s_ = 0;  // since the counter moved
  double longest_still_s_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_DEVICE_MEANS_H_
