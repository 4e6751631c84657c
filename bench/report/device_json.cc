// Implements a device's JSON by two tables of fields: strings and numbers.
#include "bench/report/device_json.h"

#include <string>
#include <utility>

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::optional<double>;

template <typename Struct, typename Member>
using Field = std::pair<const char*, Member Struct::*>;

constexpr Field<DeviceSummary, Value> kMeans[] = {
    {"utilization", &DeviceSummary::utilization},
    {"memory_used_bytes", &DeviceSummary::memory_used_bytes},
    {"power_w", &DeviceSummary::power_w},
    {"energy_j", &DeviceSummary::energy_j},
    {"temperature_c", &DeviceSummary::temperature_c},
    {"sm_clock_mhz", &DeviceSummary::sm_clock_mhz},
    {"sm_ratio", &DeviceSummary::sm_ratio},
    {"tensor_ratio", &DeviceSummary::tensor_ratio},
    {"dram_ratio", &DeviceSummary::dram_ratio}};

constexpr Field<DeviceIdentity, std::string> kTexts[] = {
    {"name", &DeviceIdentity::name},
    {"uuid", &DeviceIdentity::uuid},
    {"gpu_uuid", &DeviceIdentity::gpu_uuid},
    {"driver_version", &DeviceIdentity::driver_version},
    {"source", &DeviceIdentity::source}};

constexpr Field<DeviceFacts, Value> kFacts[] = {
    {"memory_bytes", &DeviceFacts::memory_bytes},
    {"power_limit_w", &DeviceFacts::power_limit_w},
    {"sm_clock_mhz", &DeviceFacts::sm_clock_mhz},
    {"memory_clock_mhz", &DeviceFacts::memory_clock_mhz}};

void AddText(const char* key, const std::string& text, Json& to) {
  if (!text.empty()) {
    to[key] = text;
  }
}

std::string TextOf(const Json& json, const char* key) {
  const Json text = json.value(key, Json(nullptr));
  return text.is_null() ? "" : text.get<std::string>();
}

template <typename Struct, size_t kCount>
void AddNumbers(const Struct& from,
                const Field<Struct, Value> (&fields)[kCount], Json& to) {
  for (const auto& [key, member] : fields) {
    if ((from.*member).has_value()) {
      to[key] = *(from.*member);
    }
  }
}

template <typename Struct, size_t kCount>
void ReadNumbers(const Json& from, const Field<Struct, Value> (&fields)[kCount],
                 Struct& to) {
  for (const auto& [key, member] : fields) {
    const Json number = from.value(key, Json(nullptr));
    to.*member = number.is_null() ? Value() : Value(number.get<double>());
  }
}

}  // namespace

void AddDevice(const std::optional<DeviceSummary>& device, Json& to) {
  if (device.has_value()) {
    Json& json = to["device"] = Json::object();
    AddText("name", device->name, json);
    AddNumbers(*device, kMeans, json);
  }
}

void AddDevice(const std::optional<DeviceFacts>& device, Json& to) {
  if (device.has_value()) {
    Json& json = to["device"] = Json::object();
    for (const auto& [key, member] : kTexts) {
      AddText(key, device->device.*member, json);
    }
    AddNumbers(*device, kFacts, json);
  }
}

std::optional<DeviceSummary> DeviceSummaryOf(const Json& point) {
  const Json json = point.value("device", Json(nullptr));
  if (json.is_null()) {
    return std::nullopt;
  }
  DeviceSummary device;
  device.name = TextOf(json, "name");
  ReadNumbers(json, kMeans, device);
  return device;
}

std::optional<DeviceFacts> DeviceFactsOf(const Json& run) {
  const Json json = run.value("device", Json(nullptr));
  if (json.is_null()) {
    return std::nullopt;
  }
  DeviceFacts facts;
  for (const auto& [key, member] : kTexts) {
    facts.device.*member = TextOf(json, key);
  }
  ReadNumbers(json, kFacts, facts);
  return facts;
}

}  // namespace ferry::bench
