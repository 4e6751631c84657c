// AddDevice() writes a device as JSON, DeviceSummaryOf() and DeviceFactsOf()
// read it back; for point_json and report_json. What it does not tell has no
// field.
//
// Thread safety: free functions over values.
// Errors: the exceptions of nlohmann's JSON, which its callers catch.
#ifndef FERRY_BENCH_REPORT_DEVICE_JSON_H_
#define FERRY_BENCH_REPORT_DEVICE_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>

#include "bench/device/device_summary.h"

namespace ferry::bench {

// Each adds the field "device" to `to`, or none where there is nothing.
void AddDevice(const std::optional<DeviceSummary>& device,
               nlohmann::ordered_json& to);
void AddDevice(const std::optional<DeviceFacts>& device,
               nlohmann::ordered_json& to);

// Read it; nothing where it is absent or null, as in older files.
std::optional<DeviceSummary> DeviceSummaryOf(
    const nlohmann::ordered_json& point);
std::optional<DeviceFacts> DeviceFactsOf(const nlohmann::ordered_json& run);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_DEVICE_JSON_H_
