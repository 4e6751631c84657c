// Implements MakeDeviceTable(): a column for each value, a row for each point.
#include "bench/report/device_table.h"

#include <optional>

#include "bench/report/number_text.h"

namespace ferry::bench {
namespace {

using Value = std::optional<double>;

struct Column {
  const char* heading;
  Value DeviceSummary::*value;
  double unit;  // of the heading, in those of the value
  int digits;   // behind the point
  bool is_always_there;
};

constexpr double kMib = 1 << 20;

constexpr Column kColumns[] = {
    {"utilization", &DeviceSummary::utilization, 1, 2, true},
    {"memory MiB", &DeviceSummary::memory_used_bytes, kMib, 0, true},
    {"GPU power W", &DeviceSummary::power_w, 1, 0, true},
    {"GPU energy J", &DeviceSummary::energy_j, 1, 0, false},
    {"GPU C", &DeviceSummary::temperature_c, 1, 0, false},
    {"SM clock MHz", &DeviceSummary::sm_clock_mhz, 1, 0, false},
    {"SM ratio", &DeviceSummary::sm_ratio, 1, 2, false},
    {"tensor ratio", &DeviceSummary::tensor_ratio, 1, 2, false},
    {"DRAM ratio", &DeviceSummary::dram_ratio, 1, 2, false}};

bool IsTold(const std::vector<RunResult>& runs, const Column& column) {
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (point.device.has_value() &&
          ((*point.device).*column.value).has_value()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

ReportTable MakeDeviceTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run", "load", "device"};
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    if (column.is_always_there || IsTold(runs, column)) {
      columns.push_back(column);
      table.headings.emplace_back(column.heading);
    }
  }
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (!point.device.has_value()) {
        continue;
      }
      std::vector<std::string> row = {run.label, DescribeLoad(point),
                                      point.device->name};
      for (const Column& column : columns) {
        const Value& value = (*point.device).*column.value;
        row.push_back(NumberOrNone(
            value.has_value() ? Value(*value / column.unit) : value,
            column.digits));
      }
      table.rows.push_back(row);
    }
  }
  return table;
}

}  // namespace ferry::bench
