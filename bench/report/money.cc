// Implements CostOfPoints(), by the formula of bench/plan.
#include "bench/report/money.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/plan/cost.h"
#include "bench/report/number_text.h"
#include "bench/report/percentile_text.h"
#include "bench/report/point_rules.h"

namespace ferry::bench {

std::vector<PointCost> CostOfPoints(const std::vector<RunResult>& runs,
                                    const PagePrice& price) {
  std::vector<PointCost> costs;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (size_t point = 0; point < runs[run].points.size(); ++point) {
      const PointResult& one = runs[run].points[point];
      if (!IsSteady(one) || one.achieved_rate <= 0) {
        continue;
      }
      const auto cost =
          plan::FloorPerMillion(price.device_per_hour, one.achieved_rate);
      if (cost.ok()) {
        costs.push_back({{run, point}, *cost});
      }
    }
  }
  return costs;
}

ReportTable MakeMoneyTable(const std::vector<RunResult>& runs,
                           const PagePrice& price) {
  ReportTable table;
  table.headings = {"run",
                    "load",
                    "achieved/s",
                    "failed",
                    "p99 ms",
                    absl::StrCat(price.currency, " a million"),
                    absl::StrCat("requests for 1 ", price.currency)};
  for (const PointCost& cost : CostOfPoints(runs, price)) {
    const RunResult& run = runs[cost.place.run];
    const PointResult& point = run.points[cost.place.point];
    table.rows.push_back({run.label, DescribeLoad(point),
                          absl::StrFormat("%.0f", point.achieved_rate),
                          Percent(1 - SuccessShare(point)),
                          PercentileMs(point.latency.p99_us, point.ok, 0.99),
                          absl::StrFormat("%.4g", cost.per_million),
                          absl::StrFormat("%.0f", 1e6 / cost.per_million)});
  }
  return table;
}

}  // namespace ferry::bench
