// Implements PricesOfOpenCost(): two queries, a kind of price each.
#include "deploy/ctl/opencost_prices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "bench/plan/number_check.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

constexpr size_t kMaxShown = 100;  // bytes of a label
constexpr char kOnDemandQuery[] =
    "max by (instance_type, region) ((node_gpu_hourly_cost > 0) unless on "
    "(node) (kubecost_node_is_spot == 1))";
constexpr char kSpotQuery[] =
    "max by (instance_type, region) ((node_gpu_hourly_cost > 0) and on (node) "
    "(kubecost_node_is_spot == 1))";

std::string LabelOf(const SeriesSample& price, const std::string& name) {
  const std::string value = price.Label(name);
  return value.empty() ? "unknown" : PrintableText(value, kMaxShown);
}

}  // namespace

std::vector<plan::PriceRow> PriceRowsOf(const std::vector<SeriesSample>& prices,
                                        plan::PriceKind kind) {
  std::vector<plan::PriceRow> rows;
  for (const SeriesSample& price : prices) {
    if (plan::CheckPositive("", price.value).ok()) {
      rows.push_back({.device = LabelOf(price, "instance_type"),
                      .region = LabelOf(price, "region"),
                      .kind = kind,
                      .per_hour = price.value});
    }
  }
  return rows;
}

absl::StatusOr<plan::DatedPrices> PricesOfOpenCost(
    const HttpSource& source, const std::string& currency) {
  const auto now_s = AskTime(source);
  if (!now_s.ok()) {
    return now_s.status();
  }
  plan::DatedPrices prices;
  const std::string time = TimeText(*now_s);
  prices.file.currency = currency;
  prices.file.as_of = time.substr(0, 10);
  prices.file.source =
      absl::StrCat("OpenCost's node_gpu_hourly_cost in ", source.url(), " at ",
                   time, ": GPUs without CPUs and memory of their nodes");
  for (const auto& [query, kind] :
       {std::pair(kOnDemandQuery, plan::PriceKind::kOnDemand),
        std::pair(kSpotQuery, plan::PriceKind::kSpot)}) {
    const auto samples = QueryNow(source, query);
    if (!samples.ok()) {
      return samples.status();
    }
    for (plan::PriceRow& row : PriceRowsOf(*samples, kind)) {
      prices.file.rows.push_back(std::move(row));
    }
  }
  if (prices.file.rows.empty()) {
    return absl::NotFoundError(
        absl::StrCat(source.url(),
                     ": expected node_gpu_hourly_cost above 0, got none; does "
                     "this Prometheus scrape OpenCost, and has a node a GPU?"));
  }
  return prices;
}

}  // namespace ferry::ctl
