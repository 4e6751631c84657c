// CostOfPoints() says what requests cost on one device at each measured rate,
// where a price is given.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_MONEY_H_
#define FERRY_BENCH_REPORT_MONEY_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/report/frontier.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

struct PagePrice {
  std::string currency;
  std::string row;          // "L4, on_demand, us-east"
  std::string as_of;        // the day of the price
  std::string source;       // where it was read
  std::string age_warning;  // empty: nothing to warn of
  double device_per_hour = 0;
};

struct PointCost {
  PointPlace place;
  double per_million = 0;  // money for a million requests
};

// Returns plan::FloorPerMillion at the achieved rate of each steady point
// (IsSteady()): one device that serves this rate all the time.
std::vector<PointCost> CostOfPoints(const std::vector<RunResult>& runs,
                                    const PagePrice& price);

ReportTable MakeMoneyTable(const std::vector<RunResult>& runs,
                           const PagePrice& price);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_MONEY_H_
