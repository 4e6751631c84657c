// Implements PlanText(): text for people; plan_json.cc writes the JSON.
#include "bench/commands/plan_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/plan/number_text.h"
#include "bench/report/report_table.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

std::string Currency(const PlanReport& report) {
  return report.price.has_value() ? report.price->currency : "";
}

std::string Cost(const PlanReport& report, const Plan& plan) {
  const auto per_hour = plan.Find(plan::kCostPerHour);
  if (!per_hour.has_value()) {
    return "";
  }
  std::string text =
      absl::StrFormat(", for %.2f %s an hour", *per_hour, Currency(report));
  if (const auto million = plan.Find(plan::kCostPerMillion)) {
    absl::StrAppendFormat(&text, ", %s %s a million requests",
                          plan::NumberText(*million), Currency(report));
  }
  return text;
}

// "3 replicas of 'on', for 3.00 USD an hour". REQUIRES: there is a peak.
std::string Fleet(const PlanReport& report, const Plan& plan) {
  const double replicas = plan.Find(plan::kReplicas).value_or(0);
  return absl::StrCat(plan::NumberText(replicas),
                      replicas == 1 ? " replica of '" : " replicas of '",
                      plan.limit.label, "'", Cost(report, plan));
}

std::string Saved(double share) {
  return absl::StrFormat(share < 0 ? "%.1f %% more" : "%.1f %% saved",
                         std::fabs(share) * 100);
}

std::string AnswerForPeak(const PlanReport& report) {
  std::string answer = absl::StrFormat(
      "A peak of %s requests/s within p99 <= %s ms takes %s.",
      plan::NumberText(*report.request.peak_rate),
      plan::NumberText(report.request.slo_p99_ms), Fleet(report, report.plan));
  if (const auto share = SavedShare(report)) {
    absl::StrAppendFormat(&answer, " Before it took %s: %s.",
                          Fleet(report, *report.before), Saved(*share));
  }
  return answer;
}

std::string AnswerForReplica(const PlanReport& report) {
  const SloPoint& limit = report.plan.limit;
  std::string answer = absl::StrFormat(
      "One replica of '%s' carries %s requests/s within p99 <= %s ms.",
      limit.label, plan::NumberText(limit.lambda_max()),
      plan::NumberText(report.request.slo_p99_ms));
  if (report.before.has_value()) {
    const SloPoint& before = report.before->limit;
    absl::StrAppendFormat(&answer, " Before, one of '%s' carried %s: %.2fx.",
                          before.label, plan::NumberText(before.lambda_max()),
                          limit.lambda_max() / before.lambda_max());
  }
  return answer;
}

std::string Measured(const SloPoint& limit) {
  const PointResult& point = limit.point;
  return absl::StrFormat(
      "'%s', model %s, %s: %s requests/s, p99 %.2f ms, p99.9 %.2f ms, %.2f %% "
      "of %d requests succeeded%s",
      limit.label, limit.model, DescribeLoad(point),
      plan::NumberText(point.achieved_rate), point.latency.p99_us / 1e3,
      point.latency.p999_us / 1e3, SuccessShare(point) * 100, point.planned,
      limit.is_simulated ? "; simulated device" : "");
}

std::string Price(const PlanPrice& price) {
  const plan::PriceRow& row = price.row;
  const std::string upfront =
      row.upfront > 0
          ? absl::StrFormat(" and %s %s upfront for %s hours",
                            plan::NumberText(row.upfront), price.currency,
                            plan::NumberText(row.term_hours))
          : "";
  return absl::StrFormat(
      "%s: %s %s an hour%s, devices: %d%s; as of %s, source: %s",
      plan::Describe(row), plan::NumberText(row.per_hour), price.currency,
      upfront, row.devices_per_instance,
      price.overheads.empty() ? "" : "; overheads beside: " + price.overheads,
      price.as_of, price.source);
}

ReportTable NumberTable(const PlanReport& report) {
  ReportTable table;
  table.headings = {"number", "unit"};
  if (report.before.has_value()) {
    table.headings.push_back("before");
  }
  table.headings.push_back(report.before.has_value() ? "after" : "value");
  for (const plan::Number& number : report.plan.numbers) {
    std::vector<std::string> row = {
        number.formula.name, plan::UnitText(number.formula, Currency(report))};
    if (report.before.has_value()) {
      const auto before = report.before->Find(number.formula);
      row.push_back(before.has_value() ? plan::NumberText(*before) : "-");
    }
    row.push_back(plan::NumberText(number.value));
    table.rows.push_back(row);
  }
  for (const std::string& note : PlanNotes(report)) {
    table.notes.push_back("note: " + note);
  }
  return table;
}

}  // namespace

std::string PlanAnswer(const PlanReport& report) {
  const std::string answer = report.request.peak_rate.has_value()
                                 ? AnswerForPeak(report)
                                 : AnswerForReplica(report);
  return report.plan.limit.is_simulated ? "On a simulated device: " + answer
                                        : answer;
}

std::vector<std::string> PlanNotes(const PlanReport& report) {
  std::vector<std::string> notes = report.plan.notes;
  if (report.before.has_value()) {
    for (const std::string& note : report.before->notes) {
      notes.push_back("before: " + note);
    }
    if (report.before->limit.model != report.plan.limit.model) {
      notes.push_back("before and after are of different models");
    }
  }
  if (report.price.has_value() && !report.price->age_warning.empty()) {
    notes.push_back(report.price->age_warning);
  }
  return notes;
}

std::string PlanText(const PlanReport& report, size_t columns) {
  std::string text = PlanAnswer(report) + "\n\n";
  absl::StrAppend(&text, "measured: ", Measured(report.plan.limit), "\n");
  if (report.before.has_value()) {
    absl::StrAppend(&text, "before:   ", Measured(report.before->limit), "\n");
  }
  if (report.price.has_value()) {
    absl::StrAppend(&text, "price:    ", Price(*report.price), "\n");
  }
  absl::StrAppend(&text, "\n", ToText(NumberTable(report), columns),
                  "\nformulas:\n");
  absl::StrAppend(&text, plan::FormulaText(report.plan.numbers));
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) {
    line = Wrapped(line, columns, 6);
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace ferry::bench
