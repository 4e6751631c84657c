// Implements DeviceFile: JSON to devices, and one by its name.
#include "bench/plan/device_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {

absl::StatusOr<DeviceFile> ParseDevices(const std::string& text,
                                        const std::string& name) {
  const auto json = ParseObject(text, name);
  if (!json.ok()) {
    return json.status();
  }
  ObjectReader reader(*json, name);
  DeviceFile file;
  file.source =
      reader.Text("source", "a text that says where the numbers are from");
  const nlohmann::json& rows =
      reader.List("devices", "a list of devices, one or more");
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    constexpr char kGibText[] = "the GiB of its memory, above 0";
    const std::string where = absl::StrCat(name, ": devices[", i, "]");
    ObjectReader row(rows[i], where);
    DeviceSpec device;
    device.name = row.Text("name", "a name");
    device.memory_gib = row.Number("memory_gib", kGibText, std::nullopt);
    if (device.memory_gib == 0) {
      row.Refuse("memory_gib", kGibText);
    }
    device.memory_gb_per_second =
        row.Number("memory_gb_per_second", "the GB/s that its memory gives", 0);
    device.tflops = row.Number(
        "tflops", "the TFLOP/s of its tensor cores, dense, 16 bits", 0);
    if (absl::Status status = row.Finish(); !status.ok()) {
      return status;
    }
    if (std::any_of(file.devices.begin(), file.devices.end(),
                    [&](const DeviceSpec& other) {
                      return other.name == device.name;
                    })) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": expected each device once, got another '",
                       device.name, "'"));
    }
    file.devices.push_back(std::move(device));
  }
  return file;
}

absl::StatusOr<DeviceSpec> FindDevice(const DeviceFile& file,
                                      const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceSpec& device : file.devices) {
    if (device.name == name) {
      return device;
    }
    names.push_back(device.name);
  }
  return absl::NotFoundError(absl::StrCat("device: expected one of ",
                                          absl::StrJoin(names, ", "), ", got '",
                                          name, "'"));
}

}  // namespace ferry::plan
