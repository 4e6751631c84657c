// Implements PlanMemory(), and reads the file of devices.
#include "bench/plan/memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {

absl::StatusOr<double> WeightBytes(double parameters,
                                   double bytes_per_parameter) {
  absl::Status status = CheckPositive("parameters", parameters);
  status.Update(CheckPositive("bytes per parameter", bytes_per_parameter));
  if (!status.ok()) {
    return status;
  }
  return parameters * bytes_per_parameter;
}

absl::StatusOr<MemoryNeed> PlanMemory(const MemoryInput& input) {
  // A model of a trillion parameters has more bytes than kLargestNumber.
  constexpr double kMostBytes = 1e16;
  if (!(input.weight_bytes > 0 && input.weight_bytes <= kMostBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: expected bytes above 0 and up to ", kMostBytes,
                     ", got ", input.weight_bytes));
  }
  absl::Status status = CheckNotNegative("activation bytes per row",
                                         input.activation_bytes_per_row);
  status.Update(CheckReplicas("rows", input.rows, 1));
  if (!status.ok()) {
    return status;
  }
  MemoryNeed need;
  need.activation_bytes =
      input.activation_bytes_per_row * static_cast<double>(input.rows);
  need.total_bytes = input.weight_bytes + need.activation_bytes;
  return need;
}

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
    DeviceMemory device;
    device.name = row.Text("name", "a name");
    device.gib = row.Number("memory_gib", kGibText, std::nullopt);
    if (device.gib == 0) {
      row.Refuse("memory_gib", kGibText);
    }
    if (absl::Status status = row.Finish(); !status.ok()) {
      return status;
    }
    if (std::any_of(file.devices.begin(), file.devices.end(),
                    [&](const DeviceMemory& other) {
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

}  // namespace ferry::plan
