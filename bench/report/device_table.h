// MakeDeviceTable() shows what the device said of itself at each point, also in
// an offline query: a table without a chart.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_DEVICE_TABLE_H_
#define FERRY_BENCH_REPORT_DEVICE_TABLE_H_

#include <vector>

#include "bench/report/report_table.h"

namespace ferry::bench {

// Returns utilization, memory and power, and of what else the device may tell
// the columns that have a number. No rows where no point has a device.
ReportTable MakeDeviceTable(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_DEVICE_TABLE_H_
