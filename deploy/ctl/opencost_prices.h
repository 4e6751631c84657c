// PricesOfOpenCost() reads what OpenCost says that GPUs cost, from a Prometheus
// that scrapes it.
//
// Thread safety: free functions over values.
// Errors: NOT_FOUND where there is no price; those of QueryNow().
#ifndef FERRY_DEPLOY_CTL_OPENCOST_PRICES_H_
#define FERRY_DEPLOY_CTL_OPENCOST_PRICES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/price_file.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/prometheus_client.h"

namespace ferry::ctl {

// Returns a row for each instance type and region: node_gpu_hourly_cost, which
// is of one GPU without the CPUs and the memory of its node, the highest of the
// nodes. Rows are spot prices where kubecost_node_is_spot says so. Their day is
// that of Prometheus. `currency` is given, as the metric has none.
absl::StatusOr<plan::DatedPrices> PricesOfOpenCost(const HttpSource& source,
                                                   const std::string& currency);

// Returns the rows of samples; a label that is missing stands as "unknown".
std::vector<plan::PriceRow> PriceRowsOf(const std::vector<SeriesSample>& prices,
                                        plan::PriceKind kind);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_OPENCOST_PRICES_H_
