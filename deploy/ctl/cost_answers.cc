// Implements the answers about cost: finds prices, asks the formulas, and puts
// what they say into a sentence.
#include "deploy/ctl/cost_answers.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/plan/capacity.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

using plan::DatedPrices;
using plan::MoneyText;
using plan::NumberText;
using plan::PriceKind;
using plan::PriceRow;

// Below this share of the term a published article on GPU cost does not
// reserve.
constexpr double kUsedEnough = 0.6;

double PerInstance(const PriceRow& row) {
  return plan::DevicePerHour(row) *
         static_cast<double>(row.devices_per_instance);
}

std::string PriceText(const DatedPrices& prices, const PriceRow& row) {
  std::string text =
      absl::StrCat(plan::Describe(row), ": ", NumberText(row.per_hour), " ",
                   prices.file.currency, " an hour");
  if (row.upfront > 0) {
    absl::StrAppend(&text, " and ", NumberText(row.upfront), " upfront");
  }
  absl::StrAppend(&text, ", devices: ", row.devices_per_instance);
  if (!prices.file.overheads.empty()) {
    absl::StrAppend(&text, "; a device with overheads: ",
                    NumberText(plan::DevicePerHour(row)), " ",
                    prices.file.currency, " an hour");
  }
  return text;
}

Answer AnswerOf(const std::string& command, const DatedPrices& prices,
                const NamedPrices& rows) {
  Answer answer;
  answer.command = command;
  NamePrices(prices, rows, answer);
  return answer;
}

absl::StatusOr<PriceRow> Find(const DatedPrices& prices,
                              const PriceChoice& choice, PriceKind kind) {
  plan::PriceQuery query = {.device = choice.device,
                            .kind = kind,
                            .region = choice.region,
                            .provider = choice.provider};
  if (kind == PriceKind::kReserved) {
    query.term_hours = choice.term_hours;
  }
  return plan::FindPrice(prices.file, query);
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f %%", share * 100);
}

std::string InstancesText(const PriceChoice& choice) {
  return choice.instances == 1
             ? absl::StrCat("One instance of ", choice.device)
             : absl::StrCat(choice.instances, " instances of ", choice.device);
}

// A reserved row beside its on-demand row, and what comes of it.
struct Compared {
  PriceRow reserved;
  Answer answer;
  plan::BreakEven result;
};

absl::StatusOr<Compared> Compare(const std::string& command,
                                 const DatedPrices& prices,
                                 const Commitment& commitment) {
  const auto on_demand = Find(prices, commitment.choice, PriceKind::kOnDemand);
  if (!on_demand.ok()) {
    return on_demand.status();
  }
  PriceChoice same = commitment.choice;
  same.provider = on_demand->provider;
  same.region = on_demand->region;
  const auto reserved = Find(prices, same, PriceKind::kReserved);
  if (!reserved.ok()) {
    return reserved.status();
  }
  if (on_demand->devices_per_instance != reserved->devices_per_instance) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected instances of as many devices on demand as reserved, got ",
        on_demand->devices_per_instance, " and ",
        reserved->devices_per_instance));
  }
  const auto result = plan::CompareReserved(
      {.on_demand_per_hour = plan::InstancePerHour(*on_demand),
       .reserved_per_hour = plan::InstancePerHour(*reserved),
       .upfront = plan::InstanceUpfront(*reserved),
       .term_hours = reserved->term_hours,
       .used_share = commitment.used_share,
       .instances = commitment.choice.instances});
  if (!result.ok()) {
    return result.status();
  }
  const auto per_month =
      plan::CostOfRun(plan::InstancePerHour(*on_demand),
                      commitment.choice.instances, plan::kHoursPerMonth);
  if (!per_month.ok()) {
    return per_month.status();
  }
  Compared compared = {
      .reserved = *reserved,
      .answer = AnswerOf(command, prices,
                         {{"on demand", *on_demand}, {"reserved", *reserved}}),
      .result = *result};
  compared.answer.numbers = {
      {plan::kTermHours, reserved->term_hours},
      {plan::kUsedShare, commitment.used_share},
      {plan::kOnDemandPerMonth, *per_month},
      {plan::kOnDemandTotal, result->on_demand_total},
      {plan::kReservedTotal, result->reserved_total},
      {plan::kSaved, result->saved},
      {plan::kSavedShare, result->saved_share},
      {plan::kBreakEvenShare, result->share_of_term},
      {plan::kBreakEvenHours, result->share_of_term * reserved->term_hours}};
  std::vector<Finding>& findings = compared.answer.findings;
  if (result->share_of_term > 1) {
    findings.push_back({Severity::kCritical, "reserved_is_never_cheaper",
                        "reserved costs more than on demand even if used for "
                        "the whole term: do not commit"});
  } else if (result->saved < 0) {
    findings.push_back(
        {Severity::kCritical, "used_below_break_even",
         absl::StrCat("used for ", Percent(commitment.used_share),
                      " of the term, reserved costs more than on demand: "
                      "commit to fewer, or stay on demand")});
  } else if (commitment.used_share < kUsedEnough) {
    findings.push_back(
        {Severity::kWarning, "used_for_little_of_the_term",
         absl::StrCat("used for ", Percent(commitment.used_share),
                      " of the term: a published rule reserves only what is "
                      "used for more than ",
                      Percent(kUsedEnough), " of it")});
  }
  return compared;
}

}  // namespace

void NamePrices(const DatedPrices& prices, const NamedPrices& rows,
                Answer& answer) {
  answer.currency = prices.file.currency;
  for (const auto& [name, row] : rows) {
    answer.inputs.emplace_back(name, PriceText(prices, row));
  }
  answer.inputs.emplace_back("prices",
                             absl::StrCat("as of ", prices.file.as_of,
                                          ", source: ", prices.file.source));
  if (!prices.file.overheads.empty()) {
    answer.inputs.emplace_back(
        "overheads",
        absl::StrCat(plan::DescribeOverheads(prices.file),
                     "; in each price: ", plan::kDevicePerHour.expression));
  }
  if (!prices.age_warning.empty()) {
    answer.findings.push_back(
        {Severity::kWarning, "old_prices", prices.age_warning});
  }
}

absl::StatusOr<Answer> ReservedAnswer(const DatedPrices& prices,
                                      const Commitment& commitment) {
  auto compared = Compare("cost reserved", prices, commitment);
  if (!compared.ok()) {
    return compared.status();
  }
  const plan::BreakEven& result = compared->result;
  const std::string& currency = prices.file.currency;
  compared->answer.sentence =
      absl::StrCat(InstancesText(commitment.choice), ", reserved for ",
                   NumberText(compared->reserved.term_hours),
                   " hours and used for ", Percent(commitment.used_share),
                   " of them: ", MoneyText(result.reserved_total), " ",
                   currency, " in place of ",
                   MoneyText(result.on_demand_total * commitment.used_share),
                   " on demand, ", Percent(std::fabs(result.saved_share)),
                   result.saved < 0 ? " more." : " saved.");
  return std::move(compared->answer);
}

absl::StatusOr<Answer> BreakEvenAnswer(const DatedPrices& prices,
                                       const Commitment& commitment) {
  auto compared = Compare("cost breakeven", prices, commitment);
  if (!compared.ok()) {
    return compared.status();
  }
  const plan::BreakEven& result = compared->result;
  const double term = compared->reserved.term_hours;
  compared->answer.sentence =
      result.share_of_term > 1
          ? absl::StrCat(commitment.choice.device,
                         ": reserved is never cheaper than on demand.")
          : absl::StrCat(
                commitment.choice.device,
                ": reserved is cheaper where it is used for more than ",
                Percent(result.share_of_term), " of the hours, ",
                NumberText(std::ceil(result.share_of_term * term)), " of ",
                NumberText(term), ".");
  return std::move(compared->answer);
}

absl::StatusOr<Answer> SpotAnswer(const DatedPrices& prices,
                                  const PriceChoice& choice,
                                  const Interruption& interruption) {
  if (!interruption.is_interruptible) {
    return absl::InvalidArgumentError(
        "spot: expected work that may be interrupted (--interruptible), got "
        "none: a provider takes such a device back with half a minute to two "
        "minutes of notice, so keep what has an SLA on demand or reserved");
  }
  const auto on_demand = Find(prices, choice, PriceKind::kOnDemand);
  if (!on_demand.ok()) {
    return on_demand.status();
  }
  PriceChoice same = choice;
  same.provider = on_demand->provider;
  same.region = on_demand->region;
  const auto spot = Find(prices, same, PriceKind::kSpot);
  if (!spot.ok()) {
    return spot.status();
  }
  const double before = plan::DevicePerHour(*on_demand);
  const auto after =
      plan::SpotPerHour(plan::DevicePerHour(*spot), interruption.redone_share);
  if (!after.ok()) {
    return after.status();
  }
  const auto saved = plan::SavedShare(before, *after);
  if (!saved.ok()) {
    return saved.status();
  }
  Answer answer = AnswerOf("cost spot", prices,
                           {{"on demand", *on_demand}, {"spot", *spot}});
  answer.numbers = {{plan::kDevicePerHour, plan::DevicePerHour(*spot)},
                    {plan::kRedoneShare, interruption.redone_share},
                    {plan::kSpotPerHour, *after},
                    {plan::kOnDemandPerHour, before},
                    {plan::kSpotSavedShare, *saved}};
  answer.sentence =
      absl::StrCat("An hour of work that counts costs ", NumberText(*after),
                   " ", prices.file.currency, " on a spot ", choice.device,
                   ", ", Percent(std::fabs(*saved)),
                   *saved < 0 ? " more than" : " less than", " on demand.");
  if (*saved < 0) {
    answer.findings.push_back(
        {Severity::kCritical, "spot_costs_more",
         "so much of the work is done again that on demand is cheaper"});
  }
  answer.findings.push_back(
      {Severity::kNote, "rates_of_interruption_vary",
       "prices and interruptions of spot devices change: measure the share "
       "that is done again, and look again each quarter"});
  return answer;
}

absl::StatusOr<Answer> ScheduleAnswer(const DatedPrices& prices,
                                      const PriceChoice& choice,
                                      double on_hours_per_week) {
  const auto row = Find(prices, choice, PriceKind::kOnDemand);
  if (!row.ok()) {
    return row.status();
  }
  const auto off = plan::OffShare(on_hours_per_week);
  if (!off.ok()) {
    return off.status();
  }
  const auto per_hour =
      plan::CostOfRun(plan::InstancePerHour(*row), choice.instances, 1);
  if (!per_hour.ok()) {
    return per_hour.status();
  }
  Answer answer = AnswerOf("cost schedule", prices, {{"on demand", *row}});
  const double per_month = *per_hour * plan::kHoursPerMonth;
  answer.numbers = {{plan::kCostPerHourOfInstances, *per_hour},
                    {plan::kOnDemandPerMonth, per_month},
                    {plan::kOffShare, *off},
                    {plan::kSavedPerMonth, per_month * *off}};
  answer.sentence = absl::StrCat(
      InstancesText(choice), ", on for ", NumberText(on_hours_per_week), " of ",
      NumberText(plan::kHoursPerWeek),
      " hours a week: ", MoneyText(per_month * *off), " ", prices.file.currency,
      " of ", MoneyText(per_month), " a month are saved, ", Percent(*off), ".");
  answer.findings.push_back(
      {Severity::kNote, "drain_before_off",
       "a server drains on SIGTERM before its device is given back; only what "
       "is paid by the hour is saved, not what is reserved"});
  return answer;
}

absl::StatusOr<Answer> RecordedScheduleAnswer(const DatedPrices& prices,
                                              const PriceChoice& choice,
                                              const plan::HourCounts& hours,
                                              const std::string& source) {
  const double on = hours.all - hours.idle;
  if (on == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        source, ": expected an hour with requests, found none in ",
        NumberText(hours.all), " hours: there is nothing to be on for"));
  }
  auto answer =
      ScheduleAnswer(prices, choice, plan::kHoursPerWeek * on / hours.all);
  if (!answer.ok()) {
    return answer;
  }
  answer->inputs.emplace_back("recording", source);
  answer->numbers.push_back({plan::kIdleHours, hours.idle});
  if (std::fmod(hours.all, plan::kHoursPerWeek) != 0) {
    answer->findings.push_back(
        {Severity::kWarning, "no_whole_weeks",
         absl::StrCat(NumberText(hours.all),
                      " hours were looked at, which are no whole weeks: nights "
                      "and weekends have another part of them")});
  }
  if (hours.unknown > 0) {
    answer->findings.push_back(
        {Severity::kWarning, "hours_unknown",
         absl::StrCat(NumberText(hours.unknown), " of ", NumberText(hours.all),
                      " hours have samples missing, as where the server was "
                      "away or not scraped: they count as hours with "
                      "requests")});
  }
  return answer;
}

absl::StatusOr<Answer> OfflineAnswer(const plan::OfflineWork& work,
                                     const std::optional<DatedPrices>& prices,
                                     const PriceChoice& choice) {
  const auto offline = plan::PlanOffline(work);
  if (!offline.ok()) {
    return offline.status();
  }
  Answer answer;
  answer.command = "cost offline";
  std::optional<double> per_day;
  double device_per_hour = 0;
  if (prices.has_value()) {
    const auto row = Find(*prices, choice, PriceKind::kOnDemand);
    if (!row.ok()) {
      return row.status();
    }
    device_per_hour = plan::DevicePerHour(*row);
    answer = AnswerOf("cost offline", *prices, {{"on demand", *row}});
    per_day = device_per_hour * offline->device_hours_per_day;
  }
  answer.inputs.emplace_back(
      "work", absl::StrCat(NumberText(work.items_per_day), " items a day in ",
                           work.windows_per_day, " windows of ",
                           NumberText(work.window_hours), " h, ",
                           NumberText(work.rate), " items/s a device"));
  answer.numbers = {
      {plan::kItemsPerWindow, offline->items_per_window},
      {plan::kOfflineDevices, static_cast<double>(offline->devices)},
      {plan::kWindowUsed, offline->window_used},
      {plan::kDeviceHoursPerDay, offline->device_hours_per_day}};
  answer.sentence = absl::StrFormat(
      "%.0f items a window take %d %s", std::ceil(offline->items_per_window),
      offline->devices, offline->devices == 1 ? "device" : "devices");
  if (per_day.has_value()) {
    answer.numbers.push_back({plan::kDevicePerHour, device_per_hour});
    answer.numbers.push_back({plan::kCostPerDay, *per_day});
    absl::StrAppend(&answer.sentence, ", for ", MoneyText(*per_day), " ",
                    prices->file.currency, " a day");
  }
  answer.sentence += ".";
  return answer;
}

absl::StatusOr<Answer> PerMillionAnswer(const DatedPrices& prices,
                                        const PriceChoice& choice,
                                        PriceKind kind,
                                        const ServedRate& served) {
  const auto row = Find(prices, choice, kind);
  if (!row.ok()) {
    return row.status();
  }
  const auto per_hour = plan::CostOfRun(PerInstance(*row), choice.instances, 1);
  if (!per_hour.ok()) {
    return per_hour.status();
  }
  const auto million = plan::CostPerMillion(*per_hour, served.average_rate);
  if (!million.ok()) {
    return million.status();
  }
  Answer answer =
      AnswerOf("cost per-million", prices, {{plan::KindName(kind), *row}});
  answer.numbers = {{plan::kDevicePerHour, plan::DevicePerHour(*row)},
                    {plan::kCostPerHourOfInstances, *per_hour},
                    {plan::kCostPerMillion, *million}};
  answer.sentence =
      absl::StrCat("A million requests cost ", NumberText(*million), " ",
                   prices.file.currency, " at ",
                   NumberText(served.average_rate), " requests/s");
  if (served.lambda_max.has_value()) {
    const auto utilization = plan::Utilization(
        served.average_rate, choice.instances * row->devices_per_instance,
        *served.lambda_max);
    if (!utilization.ok()) {
      return utilization.status();
    }
    const auto floor =
        plan::FloorPerMillion(plan::DevicePerHour(*row), *served.lambda_max);
    if (!floor.ok()) {
      return floor.status();
    }
    const auto waste = plan::Waste(*floor, *million);
    if (!waste.ok()) {
      return waste.status();
    }
    answer.numbers.push_back({plan::kFloorPerMillion, *floor});
    answer.numbers.push_back({plan::kUtilization, *utilization});
    answer.numbers.push_back({plan::kWaste, *waste});
    absl::StrAppend(&answer.sentence, "; ", Percent(*waste),
                    " of the money buys no request");
  }
  answer.sentence += ".";
  return answer;
}

absl::StatusOr<Answer> RankAnswer(const DatedPrices& prices,
                                  const std::map<std::string, double>& rates) {
  if (rates.empty()) {
    return absl::InvalidArgumentError(
        "expected the measured rate of one device or more, got none");
  }
  struct Ranked {
    const PriceRow* row;
    double rate;
    double per_million;
  };
  std::vector<Ranked> ranked;
  std::vector<std::string> unmeasured;
  for (const PriceRow& row : prices.file.rows) {
    const auto rate = rates.find(row.device);
    if (rate == rates.end()) {
      unmeasured.push_back(plan::Describe(row));
      continue;
    }
    const auto floor =
        plan::FloorPerMillion(plan::DevicePerHour(row), rate->second);
    if (!floor.ok()) {
      return floor.status();
    }
    ranked.push_back({&row, rate->second, *floor});
  }
  for (const auto& rate : rates) {
    const std::string& device = rate.first;
    if (std::none_of(ranked.begin(), ranked.end(), [&](const Ranked& one) {
          return one.row->device == device;
        })) {
      return absl::NotFoundError(absl::StrCat(
          "no price of '", device, "'; there is: ",
          absl::StrJoin(prices.file.rows, "; ",
                        [](std::string* out, const PriceRow& row) {
                          absl::StrAppend(out, plan::Describe(row));
                        })));
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) {
                     return a.per_million < b.per_million;
                   });
  Answer answer = AnswerOf("cost rank", prices, {});
  answer.table.headings = {"price", "requests/s of a device",
                           answer.currency + "/h of a device",
                           answer.currency + " per million"};
  for (const Ranked& one : ranked) {
    answer.table.rows.push_back({plan::Describe(*one.row), NumberText(one.rate),
                                 NumberText(plan::DevicePerHour(*one.row)),
                                 NumberText(one.per_million)});
  }
  const Ranked& first = ranked.front();
  answer.numbers = {{plan::kFloorPerMillion, first.per_million}};
  answer.sentence = absl::StrCat(
      "The cheapest, at its full measured rate: ", plan::Describe(*first.row),
      ", ", NumberText(first.per_million), " ", answer.currency,
      " a million requests.");
  if (!unmeasured.empty()) {
    answer.findings.push_back(
        {Severity::kNote, "not_measured",
         absl::StrCat("without a measured rate, not ranked: ",
                      absl::StrJoin(unmeasured, "; "))});
  }
  if (std::any_of(ranked.begin(), ranked.end(), [](const Ranked& one) {
        return one.row->kind == PriceKind::kSpot;
      })) {
    answer.findings.push_back(
        {Severity::kNote, "spot_is_not_for_serving",
         "a spot device can be taken back at any time: not for work that has "
         "an SLA"});
  }
  return answer;
}

}  // namespace ferry::ctl
