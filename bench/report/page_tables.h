// MakeOfferedTable() and its like make the tables of the page, one below each
// chart: every number that is drawn, so none of an offline query but in a table
// that says so. A table without rows: there is nothing to draw, and no chart.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_PAGE_TABLES_H_
#define FERRY_BENCH_REPORT_PAGE_TABLES_H_

#include <vector>

#include "bench/report/frontier.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

// Open loops: latency at each utilization and busy ratio, with its intervals.
ReportTable MakeUtilizationTable(const std::vector<RunResult>& runs);

// Open loops: what was offered, answered and failed, by code.
ReportTable MakeOfferedTable(const std::vector<RunResult>& runs);

// Points that have successes; `front` and `chosen` are marked.
ReportTable MakeFrontierTable(const std::vector<RunResult>& runs,
                              const std::vector<PointPlace>& front,
                              const std::optional<PointPlace>& chosen);

// Mean rows of a batch at each rate.
ReportTable MakeRowsTable(const std::vector<RunResult>& runs);

// Executions by rows of a batch, and why batches left the queue.
ReportTable MakeBatchTable(const std::vector<RunResult>& runs);
ReportTable MakeCloseTable(const std::vector<RunResult>& runs);

// Executions by rows of a batch in offline queries, which no chart has.
ReportTable MakeOfflineBatchTable(const std::vector<RunResult>& runs);

// Where the mean latency went; the rest is client and network.
ReportTable MakeBreakdownTable(const std::vector<RunResult>& runs);

// Latency at percentiles: of the histogram, where there is one that can be
// restored.
ReportTable MakePercentileTable(const std::vector<RunResult>& runs);

// The slices of each window.
ReportTable MakeTimelineTable(const std::vector<RunResult>& runs);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_PAGE_TABLES_H_
