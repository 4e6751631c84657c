// Implements PlanJson(): writes a plan as JSON; plan_text.cc writes the words.
#include <nlohmann/json.hpp>

#include "bench/commands/plan_text.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

Json Optional(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json RequestJson(const PlanRequest& request) {
  return {{"slo_p99_ms", request.slo_p99_ms},
          {"peak_rate", Optional(request.peak_rate)},
          {"average_rate", Optional(request.average_rate)},
          {"headroom", request.headroom},
          {"spares", request.spares},
          {"lost_share", request.lost_share},
          {"power_w", Optional(request.power_w)}};
}

Json PriceJson(const PlanPrice& price) {
  return {{"device", price.row.device},
          {"provider", price.row.provider},
          {"region", price.row.region},
          {"kind", plan::KindName(price.row.kind)},
          {"per_hour", price.row.per_hour},
          {"devices_per_instance", price.row.devices_per_instance},
          {"upfront", price.row.upfront},
          {"term_hours", price.row.term_hours},
          {"currency", price.currency},
          {"as_of", price.as_of},
          {"source", price.source},
          {"overheads", price.overheads}};
}

Json PlanToJson(const Plan& plan) {
  const PointResult& point = plan.limit.point;
  Json numbers = Json::object();
  for (const plan::Number& number : plan.numbers) {
    numbers[number.formula.name] = number.value;
  }
  return {{"label", plan.limit.label},
          {"model", plan.limit.model},
          {"simulated", plan.limit.is_simulated},
          {"rows_per_request", plan.limit.rows_per_request},
          {"point",
           {{"offered_rate", point.offered_rate},
            {"achieved_rate", point.achieved_rate},
            {"p99_us", point.latency.p99_us},
            {"p999_us", point.latency.p999_us},
            {"planned", point.planned},
            {"ok", point.ok}}},
          {"numbers", numbers}};
}

Json FormulasJson(const Plan& plan) {
  Json formulas = Json::array();
  for (const plan::Number& number : plan.numbers) {
    formulas.push_back({{"name", number.formula.name},
                        {"unit", number.formula.unit},
                        {"expression", number.formula.expression},
                        {"source", number.formula.source}});
  }
  return formulas;
}

}  // namespace

std::string PlanJson(const PlanReport& report, const std::string& command,
                     const std::string& date) {
  Json document = {{"format", "ferry-bench-plan/1"},
                   {"date", date},
                   {"command", command},
                   {"answer", PlanAnswer(report)},
                   {"request", RequestJson(report.request)},
                   {"price", nullptr},
                   {"plan", PlanToJson(report.plan)},
                   {"before", nullptr},
                   {"saved_share", Optional(SavedShare(report))},
                   {"notes", PlanNotes(report)},
                   {"formulas", FormulasJson(report.plan)}};
  if (report.price.has_value()) {
    document["price"] = PriceJson(*report.price);
  }
  if (report.before.has_value()) {
    document["before"] = PlanToJson(*report.before);
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry::bench
