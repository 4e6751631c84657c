// Implements DeviceMeans: turns readings into means, weighted by time.
#include "bench/device/device_means.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace ferry::bench {
namespace {

using Value = std::optional<double>;
using Readings = nvml::DeviceReadings;

constexpr double kHertzPerMegahertz = 1e6;
constexpr double kLeastTold = 0.5;   // of the window
constexpr double kMostStill = 0.05;  // of the window

Value Megahertz(const Value& hertz) {
  return hertz.has_value() ? Value(*hertz / kHertzPerMegahertz) : Value();
}

Value Ratio(const Value& ratio) {
  return ratio.has_value() ? Value(std::clamp(*ratio, 0.0, 1.0)) : Value();
}

struct MeanOf {
  Value DeviceSummary::*mean;
  Value (*value)(const Readings& readings);
};

constexpr MeanOf kMeansOf[] = {
    {&DeviceSummary::utilization,
     [](const Readings& of) {
       // GPM's is a mean over all of the time, and told of slices.
       return Ratio(of.gpm.graphics_ratio.has_value() ? of.gpm.graphics_ratio
                                                      : of.busy_ratio);
     }},
    {&DeviceSummary::memory_used_bytes,
     [](const Readings& of) { return of.memory_used_bytes; }},
    {&DeviceSummary::power_w,
     [](const Readings& of) { return of.power_watts; }},
    {&DeviceSummary::temperature_c,
     [](const Readings& of) { return of.temperature_celsius; }},
    {&DeviceSummary::sm_clock_mhz,
     [](const Readings& of) { return Megahertz(of.sm_clock_hertz); }},
    {&DeviceSummary::sm_ratio,
     [](const Readings& of) { return Ratio(of.gpm.sm_ratio); }},
    {&DeviceSummary::tensor_ratio,
     [](const Readings& of) { return Ratio(of.gpm.tensor_ratio); }},
    {&DeviceSummary::dram_ratio,
     [](const Readings& of) { return Ratio(of.gpm.dram_ratio); }},
};

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

DeviceFacts FactsOf(const DeviceReading& reading) {
  return {.device = reading.device,
          .memory_bytes = reading.values.memory_total_bytes,
          .power_limit_w = reading.values.power_limit_watts,
          .sm_clock_mhz = Megahertz(reading.values.sm_clock_hertz),
          .memory_clock_mhz = Megahertz(reading.values.memory_clock_hertz)};
}

void DeviceMeans::Add(const DeviceReading& reading) {
  static_assert(std::size(kMeansOf) == kMeans);
  if (!begin_.has_value()) {
    begin_ = last_ = reading.at;
    age_ = reading.age;
    name_ =
        reading.device.name.empty() ? reading.device.uuid : reading.device.name;
    first_energy_ = last_energy_ = reading.values.energy_joules;
    return;
  }
  const double seconds = Seconds(reading.at - last_);
  if (seconds <= 0) {
    return;
  }
  Readings values = reading.values;
  if (reading.at - last_ < nvml::GpmSampler::kMinInterval) {
    values.gpm = {};  // still those of the time before
  }
  const bool is_of_window = reading.at - *begin_ >= reading.age;
  for (size_t i = 0; i < kMeans && is_of_window; ++i) {
    if (const Value value = kMeansOf[i].value(values); value.has_value()) {
      means_[i].sum += *value * seconds;
      means_[i].seconds += seconds;
    }
  }
  AddEnergy(reading.values.energy_joules, seconds);
  last_ = reading.at;
}

void DeviceMeans::AddEnergy(const std::optional<double>& joules,
                            double seconds) {
  if (!last_energy_.has_value() || !joules.has_value() ||
      *joules < *last_energy_) {
    last_energy_.reset();
    return;
  }
  still_s_ = *joules > *last_energy_ ? 0 : still_s_ + seconds;
  longest_still_s_ = std::max(longest_still_s_, still_s_);
  last_energy_ = joules;
}

std::optional<double> DeviceMeans::Energy() const {
  const double oldest_s = std::max(longest_still_s_, Seconds(age_));
  return last_energy_.has_value() &&
                 oldest_s <= kMostStill * Seconds(last_ - *begin_)
             ? Value(*last_energy_ - *first_energy_)
             : Value();
}

std::optional<DeviceSummary> DeviceMeans::Summary() const {
  if (!begin_.has_value() || last_ <= *begin_) {
    return std::nullopt;
  }
  const double window_s = Seconds(last_ - *begin_);
  DeviceSummary summary;
  summary.name = name_;
  for (size_t i = 0; i < kMeans; ++i) {
    if (means_[i].seconds >= kLeastTold * window_s) {
      summary.*kMeansOf[i].mean = means_[i].sum / means_[i].seconds;
    }
  }
  summary.energy_j = Energy();
  if (summary.energy_j.has_value()) {
    summary.power_w = *summary.energy_j / window_s;
  }
  return summary;
}

}  // namespace ferry::bench
