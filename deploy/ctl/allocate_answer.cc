// Implements AllocateAnswer().
#include "deploy/ctl/allocate_answer.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_text.h"
#include "deploy/ctl/cost_answers.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

constexpr double kPercent = 100;
constexpr double kCents = 100;

std::string MoneyOf(int64_t cents) {
  return absl::StrFormat("%d.%02d", cents / 100, cents % 100);
}

std::string ModelText(const plan::CostShare& one) {
  return one.use.model.empty() ? "(idle)" : one.use.model;
}

std::string ClientText(const plan::CostShare& one) {
  return one.use.client.empty() && !one.use.model.empty() ? "(not known)"
                                                          : one.use.client;
}

// A field of comma-separated values (RFC 4180).
std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string FocusTable(const MeasuredUse& use, const std::string& currency,
                       const plan::Allocation& allocation) {
  std::string table =
      "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeDescription,"
      "BillingCurrency,EffectiveCost,ConsumedQuantity,ConsumedUnit,ResourceId,"
      "ServiceName,Tags\n";
  for (const plan::CostShare& one : allocation.shares) {
    nlohmann::ordered_json tags = nlohmann::ordered_json::object();
    if (!one.use.model.empty()) {
      tags["model"] = one.use.model;
    }
    if (!one.use.client.empty()) {
      tags["client"] = one.use.client;
    }
    absl::StrAppend(&table, TimeText(use.begin), ",", TimeText(use.end),
                    ",Usage,", one.use.model.empty() ? "idle" : "compute", ",",
                    Quoted(currency), ",", MoneyOf(one.cents), ",",
                    absl::StrFormat("%.3f", one.use.seconds), ",Seconds,",
                    Quoted(use.device), ",Ferry,",
                    Quoted(tags.dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace)),
                    "\n");
  }
  return table;
}

}  // namespace

absl::StatusOr<Answer> AllocateAnswer(const MeasuredUse& use,
                                      const plan::DatedPrices& prices,
                                      const plan::PriceQuery& query,
                                      bool is_table) {
  const auto row = plan::FindPrice(prices.file, query);
  if (!row.ok()) {
    return row.status();
  }
  const auto allocation =
      plan::Allocate({.hours = absl::ToDoubleHours(use.end - use.begin),
                      .per_hour = plan::DevicePerHour(*row),
                      .models = use.models,
                      .clients = use.clients});
  if (!allocation.ok()) {
    return allocation.status();
  }
  Answer answer;
  answer.command = "cost allocate";
  answer.inputs = {{"use", absl::StrCat(use.source, ", ", TimeText(use.begin),
                                        " to ", TimeText(use.end))}};
  if (!use.device.empty()) {
    answer.inputs.emplace_back("device", use.device);
  }
  NamePrices(prices, {{"price", *row}}, answer);
  const std::string& currency = prices.file.currency;
  answer.sentence = absl::StrFormat(
      "Of %s %s, %s (%.1f %%) paid for idle time.", MoneyOf(allocation->cents),
      currency, MoneyOf(allocation->shares.back().cents),
      allocation->idle_share * kPercent);
  answer.numbers = {
      {plan::kPaid, static_cast<double>(allocation->cents) / kCents},
      {plan::kIdleShare, allocation->idle_share}};
  answer.table.headings = {"model", "client", "compute s", "share %", currency};
  for (const plan::CostShare& one : allocation->shares) {
    answer.table.rows.push_back({ModelText(one), ClientText(one),
                                 absl::StrFormat("%.1f", one.use.seconds),
                                 absl::StrFormat("%.1f", one.share * kPercent),
                                 MoneyOf(one.cents)});
  }
  if (!use.shorter.empty()) {
    answer.findings.push_back(
        {Severity::kNote, "shorter_than_the_window", use.shorter});
  }
  if (use.clients.empty() && !use.models.empty()) {
    answer.findings.push_back(
        {Severity::kNote, "clients_are_not_known",
         "no client was counted: a server knows its clients by "
         "--auth-token-file"});
  }
  if (is_table) {
    answer.artifact = FocusTable(use, currency, *allocation);
  }
  return answer;
}

}  // namespace ferry::ctl
