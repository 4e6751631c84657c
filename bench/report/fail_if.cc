// Implements ParseCondition(): a metric, a comparison, a number with its unit.
#include "bench/report/fail_if.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "bench/load/batch_means.h"
#include "bench/report/overall_latency.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

using Point = PointResult;

enum class Unit : uint8_t { kTime, kShare, kRate };

struct Metric {
  absl::string_view name;
  Unit unit;
  // Nothing: it cannot be told; infinity: too many requests failed.
  std::optional<double> (*value)(const Point& point);
  double percentile = 0;  // as a share; 0: it is none
};

template <int kPerMille>
constexpr Metric Percentile(absl::string_view name) {
  return {
      name, Unit::kTime,
      [](const Point& p) { return OverallPercentileUs(p, kPerMille / 1000.0); },
      kPerMille / 1000.0};
}

constexpr absl::string_view kGoodput = "goodput";

constexpr Metric kMetrics[] = {
    {"mean", Unit::kTime, OverallMeanUs},
    Percentile<500>("p50"),
    Percentile<900>("p90"),
    Percentile<950>("p95"),
    Percentile<990>("p99"),
    Percentile<999>("p99.9"),
    {"max", Unit::kTime,
     [](const Point& p) { return OverallPercentileUs(p, 1); }},
    {"errors", Unit::kShare,
     [](const Point& p) {
       return p.planned > 0
                  ? std::optional(static_cast<double>(p.error_count()) /
                                  static_cast<double>(p.planned))
                  : std::nullopt;
     }},
    {"rate", Unit::kRate,
     [](const Point& p) { return std::optional(p.achieved_rate); }},
    {kGoodput, Unit::kRate, [](const Point& p) { return p.goodput_rate; }},
    {"busy", Unit::kShare, [](const Point& p) { return p.busy_ratio; }},
};

const Metric* FindMetric(absl::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) {
      return &metric;
    }
  }
  return nullptr;
}

struct Suffix {
  absl::string_view text;
  Unit unit;
  double factor;
};

// The longer ones first: "ms" ends with "s".
constexpr Suffix kSuffixes[] = {
    {"us", Unit::kTime, 1},  {"ms", Unit::kTime, 1e3},
    {"s", Unit::kTime, 1e6}, {"%", Unit::kShare, 0.01},
    {"/s", Unit::kRate, 1},  {"", Unit::kRate, 1},
};

constexpr absl::string_view kZero = "0";  // is the same in all units

std::optional<double> ParseBound(absl::string_view text, Unit unit) {
  if (text == kZero) {
    return 0;
  }
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.unit != unit || text.size() < suffix.text.size() ||
        text.substr(text.size() - suffix.text.size()) != suffix.text) {
      continue;
    }
    double number = 0;
    if (absl::SimpleAtod(text.substr(0, text.size() - suffix.text.size()),
                         &number) &&
        number >= 0 && number < 1e15) {
      return number * suffix.factor;
    }
  }
  return std::nullopt;
}

std::string ShownAs(Unit unit, double value) {
  switch (unit) {
    case Unit::kTime:
      return absl::StrFormat("%.3f ms", value / 1e3);
    case Unit::kShare:
      return absl::StrFormat("%.3f %%", value * 100);
    case Unit::kRate:
      return absl::StrFormat("%.1f/s", value);
  }
  return "";
}

// Returns what a condition says against a point of the run; "" where it is not
// so.
std::string Failure(const Condition& condition, const RunResult& run,
                    const PointResult& point) {
  const Metric& metric = *FindMetric(condition.metric);
  const auto value = metric.value(point);
  if (!value.has_value()) {
    return absl::StrCat(" has no ", condition.metric, ": ", condition.text,
                        " cannot be told",
                        TakesSlo(condition) && !run.slo_ms.has_value()
                            ? ", as it takes --slo-ms"
                            : "");
  }
  if (condition.is_above ? *value > condition.bound
                         : *value < condition.bound) {
    return std::isfinite(*value)
               ? absl::StrCat(": ", condition.text, ", at ",
                              ShownAs(metric.unit, *value))
               : absl::StrFormat(": %s, as %d of %d requests failed",
                                 condition.text, point.planned - point.ok,
                                 point.planned);
  }
  if (metric.percentile > 0 && point.planned < SamplesFor(metric.percentile)) {
    return absl::StrFormat(
        ": %s cannot be told from %d requests: it takes %d at least",
        condition.text, point.planned, SamplesFor(metric.percentile));
  }
  return "";
}

}  // namespace

absl::StatusOr<Condition> ParseCondition(const std::string& text) {
  const size_t place = text.find_first_of("<>");
  const absl::string_view all = text;
  if (place != std::string::npos) {
    const Metric* const metric =
        FindMetric(absl::StripAsciiWhitespace(all.substr(0, place)));
    const auto bound =
        metric == nullptr
            ? std::nullopt
            : ParseBound(absl::StripAsciiWhitespace(all.substr(place + 1)),
                         metric->unit);
    if (bound.has_value()) {
      return Condition{text, std::string(metric->name), text[place] == '>',
                       *bound};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--fail-if: expected a metric (mean, p50, p90, p95, p99, p99.9, max, "
      "errors, rate, goodput, busy), < or >, and a number with its unit, as "
      "'p99>20ms', 'errors>0.1%', 'rate<1000', got '",
      text, "'"));
}

bool TakesSlo(const Condition& condition) {
  return condition.metric == kGoodput;
}

std::vector<std::string> Failures(const std::vector<Condition>& conditions,
                                  const RunResult& run) {
  std::vector<std::string> failures;
  for (const PointResult& point : run.points) {
    const std::string load = DescribeLoad(point);
    if (!conditions.empty() && !point.void_reason.empty()) {
      failures.push_back(absl::StrCat(load, " is void: ", point.void_reason));
      continue;
    }
    if (!conditions.empty() && point.interrupted) {
      failures.push_back(absl::StrCat(load, " was cut short"));
      continue;
    }
    for (const Condition& condition : conditions) {
      if (const std::string failure = Failure(condition, run, point);
          !failure.empty()) {
        failures.push_back(load + failure);
      }
    }
  }
  return failures;
}

}  // namespace ferry::bench
