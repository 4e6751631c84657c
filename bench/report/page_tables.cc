// Implements the tables of the page: a row for each point, or several.
#include "bench/report/page_tables.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/load/histogram_record.h"
#include "bench/report/goodput.h"
#include "bench/report/number_text.h"
#include "bench/report/percentile_text.h"
#include "bench/report/point_rules.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr double kPercentiles[] = {0.5,   0.75,  0.9,    0.95, 0.99,
                                   0.995, 0.999, 0.9999, 1};

std::string Rate(double rate) { return absl::StrFormat("%.0f", rate); }

std::string StateOf(const PointResult& point) {
  return !point.void_reason.empty()    ? "void"
         : point.interrupted           ? "cut short"
         : !WhyUnsteady(point).empty() ? "unsteady"
                                       : point.purpose;
}

// Calls `add` with each point that charts draw, and its run.
template <typename Add>
void ForEachPoint(const std::vector<RunResult>& runs, Add add) {
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (point.loop != "offline") {
        add(run, point);
      }
    }
  }
}

double LatencyAt(const LatencySummary& latency, double q) {
  return q == 0.5      ? latency.p50_us
         : q == 0.9    ? latency.p90_us
         : q == 0.95   ? latency.p95_us
         : q == 0.99   ? latency.p99_us
         : q == 0.999  ? latency.p999_us
         : q == 0.9999 ? latency.p9999_us
         : q == 1      ? latency.max_us
                       : 0;
}

ReportTable BatchTable() {
  return {.headings = {"run", "load", "rows of a batch", "batches", "share",
                       "share of rows"},
          .rows = {},
          .notes = {}};
}

void AddBatches(const RunResult& run, const PointResult& point,
                ReportTable& table) {
  double batches = 0;
  double rows = 0;
  for (const auto& [size, count] : point.batches) {
    batches += static_cast<double>(count);
    rows += static_cast<double>(count) * static_cast<double>(size);
  }
  for (const auto& [size, count] : point.batches) {
    const auto number = static_cast<double>(count);
    if (count > 0) {
      table.rows.push_back(
          {run.label, DescribeLoad(point), absl::StrCat(size),
           absl::StrCat(count), Percent(number / batches),
           Percent(number * static_cast<double>(size) / rows)});
    }
  }
}

}  // namespace

ReportTable MakeUtilizationTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",      "load",        "utilization", "busy ratio",
                    "p50 ms",   "p90 ms",      "p95 ms",      "p99 ms",
                    "p99.9 ms", "p50 95 % ms", "p99 95 % ms", "note"};
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    const auto utilization = UtilizationOf(run, point);
    if (point.loop == "open" && point.ok > 0 &&
        (utilization.has_value() || point.busy_ratio.has_value())) {
      const LatencySummary& latency = point.latency;
      const auto ms = [&](double us, double q) {
        return PercentileMs(us, point.ok, q);
      };
      table.rows.push_back(
          {run.label, DescribeLoad(point), NumberOrNone(utilization, 3),
           NumberOrNone(point.busy_ratio, 2), ms(latency.p50_us, 0.5),
           ms(latency.p90_us, 0.9), ms(latency.p95_us, 0.95),
           ms(latency.p99_us, 0.99), ms(latency.p999_us, 0.999),
           MsOrNone(point.p50_interval), MsOrNone(point.p99_interval),
           StateOf(point)});
    }
  });
  return table;
}

ReportTable MakeOfferedTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {
      "run",    "load",        "offered/s",   "achieved/s", "p50 ms",
      "p99 ms", "p50 95 % ms", "p99 95 % ms", "failed",     "failed, by code",
      "note"};
  const bool has_goodput = HasGoodput(runs);
  if (has_goodput) {
    table.headings.insert(table.headings.begin() + 4, "goodput/s");
  }
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    if (point.loop != "open") {
      return;
    }
    const auto failed = static_cast<double>(point.error_count());
    table.rows.push_back(
        {run.label, DescribeLoad(point), Rate(point.offered_rate),
         Rate(point.achieved_rate),
         PercentileMs(point.latency.p50_us, point.ok, 0.5),
         PercentileMs(point.latency.p99_us, point.ok, 0.99),
         MsOrNone(point.p50_interval), MsOrNone(point.p99_interval),
         point.planned > 0
             ? Percent(failed / static_cast<double>(point.planned))
             : "-",
         DescribeErrors(point.errors), StateOf(point)});
    if (has_goodput) {
      table.rows.back().insert(table.rows.back().begin() + 4,
                               NumberOrNone(point.goodput_rate, 0));
    }
  });
  return table;
}

ReportTable MakeFrontierTable(const std::vector<RunResult>& runs,
                              const std::vector<PointPlace>& front,
                              const std::optional<PointPlace>& chosen) {
  ReportTable table;
  table.headings = {"run", "load", "achieved/s", "p99 ms", "frontier", "note"};
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t j = 0; j < runs[i].points.size(); ++j) {
      const PointResult& point = runs[i].points[j];
      const PointPlace place = {i, j};
      if (point.ok == 0 || point.loop == "offline") {
        continue;
      }
      const bool is_front =
          std::find(front.begin(), front.end(), place) != front.end();
      table.rows.push_back({runs[i].label, DescribeLoad(point),
                            Rate(point.achieved_rate),
                            PercentileMs(point.latency.p99_us, point.ok, 0.99),
                            chosen == place ? "chosen"
                            : is_front      ? "yes"
                                            : "",
                            StateOf(point)});
    }
  }
  return table;
}

ReportTable MakeRowsTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run", "load", "achieved/s", "rows/batch", "note"};
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    if (point.ok > 0 && point.mean_rows.has_value()) {
      table.rows.push_back({run.label, DescribeLoad(point),
                            Rate(point.achieved_rate),
                            NumberOrNone(point.mean_rows, 2), StateOf(point)});
    }
  });
  return table;
}

ReportTable MakeBatchTable(const std::vector<RunResult>& runs) {
  ReportTable table = BatchTable();
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    AddBatches(run, point, table);
  });
  return table;
}

ReportTable MakeOfflineBatchTable(const std::vector<RunResult>& runs) {
  ReportTable table = BatchTable();
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (point.loop == "offline") {
        AddBatches(run, point, table);
      }
    }
  }
  return table;
}

ReportTable MakeCloseTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run", "load", "closed because", "batches", "share"};
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    double all = 0;
    for (const auto& [reason, count] : point.closed) {
      all += static_cast<double>(count);
    }
    for (const auto& [reason, count] : point.closed) {
      if (count > 0) {
        table.rows.push_back({run.label, DescribeLoad(point), reason,
                              absl::StrCat(count),
                              Percent(static_cast<double>(count) / all)});
      }
    }
  });
  return table;
}

ReportTable MakeBreakdownTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",      "load",      "queue ms", "input ms",
                    "infer ms", "output ms", "rest ms",  "mean ms"};
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    if (!point.server_times.has_value()) {
      return;
    }
    const ServerTimes& times = *point.server_times;
    const double served = times.queue_us + times.compute_input_us +
                          times.compute_infer_us + times.compute_output_us;
    const double mean = point.latency.mean_us;
    table.rows.push_back({run.label, DescribeLoad(point), Ms(times.queue_us),
                          Ms(times.compute_input_us),
                          Ms(times.compute_infer_us),
                          Ms(times.compute_output_us),
                          Ms(std::max(0.0, mean - served)), Ms(mean)});
  });
  return table;
}

ReportTable MakePercentileTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run", "load"};
  for (const double q : kPercentiles) {
    table.headings.push_back(q == 1 ? "max ms"
                                    : absl::StrFormat("p%g ms", q * 100));
  }
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    if (point.ok == 0) {
      return;
    }
    const auto whole = Restore(point.histograms.latency);
    const bool is_whole = whole.ok() && whole->count() > 0;
    std::vector<std::string> row = {run.label, DescribeLoad(point)};
    for (const double q : kPercentiles) {
      row.push_back(PercentileMs(
          is_whole && q < 1 ? static_cast<double>(whole->Quantile(q)) / 1e3
                            : LatencyAt(point.latency, q),
          point.ok, q));
    }
    table.rows.push_back(row);
  });
  return table;
}

ReportTable MakeTimelineTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",      "load",   "until s", "planned/s",
                    "failed/s", "p50 ms", "p99 ms"};
  ForEachPoint(runs, [&](const auto& run, const auto& point) {
    double begin_s = 0;
    for (const SliceSummary& slice : point.series) {
      const double seconds = slice.end_s - begin_s;
      begin_s = slice.end_s;
      if (seconds <= 0) {
        continue;
      }
      const uint64_t ok = slice.planned - std::min(slice.failed, slice.planned);
      table.rows.push_back({run.label, DescribeLoad(point),
                            absl::StrFormat("%.2f", slice.end_s),
                            Rate(static_cast<double>(slice.planned) / seconds),
                            Rate(static_cast<double>(slice.failed) / seconds),
                            PercentileMs(slice.p50_us, ok, 0.5),
                            PercentileMs(slice.p99_us, ok, 0.99)});
    }
  });
  return table;
}

}  // namespace ferry::bench
