// Implements ToJson() of a comparison; comparison_text.cc writes the words.
#include <nlohmann/json.hpp>

#include "bench/compare/comparison_text.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kSame:
      return "no difference shown";
    case Verdict::kByChance:
      return "by chance";
    case Verdict::kDiffers:
      break;
  }
  return "differs";
}

const char* NameOf(Method method) {
  switch (method) {
    case Method::kPairs:
      return "pairs";
    case Method::kRepeats:
      return "repeats";
    case Method::kPrecision:
      return "precision";
    case Method::kSlices:
      break;
  }
  return "slices";
}

Json MetricToJson(const Metric& metric) {
  Json json = {
      {"name", metric.name},
      {"unit", metric.unit},
      {"kind", metric.is_ratio ? "ratio" : "difference"},
      {"a", metric.a},
      {"b", metric.b},
      {"b_to_a", metric.is_ratio ? metric.b / metric.a : metric.b - metric.a},
      {"b_to_a_95", nullptr},
      {"p_value", nullptr},
      {"verdict", NameOf(metric.verdict)},
      {"text", VerdictText(metric)}};
  if (metric.estimate.has_value()) {
    json["b_to_a_95"] = {metric.low(), metric.high()};
    json["p_value"] = metric.estimate->p_value;
  }
  return json;
}

Json LoadToJson(const LoadComparison& load) {
  Json metrics = Json::array();
  for (const Metric& metric : load.metrics) {
    metrics.push_back(MetricToJson(metric));
  }
  return {{"load", load.load},
          {"method", NameOf(load.method)},
          {"runs_a", load.runs_a},
          {"runs_b", load.runs_b},
          {"metrics", metrics}};
}

}  // namespace

std::string ToJson(const Comparison& comparison) {
  Json loads = Json::array();
  for (const LoadComparison& load : comparison.loads) {
    loads.push_back(LoadToJson(load));
  }
  const Json document = {{"format", "ferry-bench-compare/1"},
                         {"a", comparison.name_a},
                         {"b", comparison.name_b},
                         {"tests", comparison.tests},
                         {"warnings", comparison.warnings},
                         {"unsteady", comparison.unsteady},
                         {"left_out", comparison.left_out},
                         {"notes", comparison.notes},
                         {"loads", loads}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry::bench
