// Implements ReadPrice(): finds the row that the flags name and tells its age.
#include "bench/commands/price_flags.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "bench/report/machine.h"
#include "bench/report/report_json.h"

namespace ferry::bench {
namespace {

// Returns the on-demand row of the same device and region, where there is one.
std::optional<plan::PriceRow> OnDemand(const plan::PriceFile& prices,
                                       const plan::PriceRow& row) {
  const auto found = plan::FindPrice(
      prices,
      {.device = row.device, .region = row.region, .provider = row.provider});
  return found.ok() ? std::optional(*found) : std::nullopt;
}

}  // namespace

absl::StatusOr<PlanPrice> ReadPrice(const PriceFlags& flags) {
  const auto text = ReadFile(flags.path);
  if (!text.ok()) {
    return text.status();
  }
  const auto prices =
      plan::ParseDatedPrices(*text, flags.path, DateNow().substr(0, 10));
  if (!prices.ok()) {
    return prices.status();
  }
  const auto kind = plan::ParseKind(flags.kind);
  if (!kind.ok()) {
    return kind.status();
  }
  plan::PriceQuery query = flags.query;
  query.kind = *kind;
  const auto row = plan::FindPrice(prices->file, query);
  if (!row.ok()) {
    return row.status();
  }
  PlanPrice price;
  price.currency = prices->file.currency;
  price.as_of = prices->file.as_of;
  price.source = prices->file.source;
  price.overheads = plan::DescribeOverheads(prices->file);
  price.age_warning = prices->age_warning;
  price.row = *row;
  if (row->kind == plan::PriceKind::kReserved) {
    price.on_demand = OnDemand(prices->file, *row);
  }
  return price;
}

void AddPriceFlags(CLI::App& command, PriceFlags& flags) {
  command.option_defaults()->group("Prices");
  CLI::Option* const prices = command.add_option(
      "--prices", flags.path, "price file; docs/planning.md");
  CLI::Option* const device =
      command.add_option("--device", flags.query.device, "of the price file")
          ->needs(prices);
  prices->needs(device);
  command.add_option("--kind", flags.kind, "on_demand, reserved or spot")
      ->needs(prices)
      ->capture_default_str();
  command
      .add_option("--provider", flags.query.provider,
                  "where the device has prices of several")
      ->needs(prices);
  command
      .add_option("--region", flags.query.region,
                  "where the device has prices of several")
      ->needs(prices);
  command
      .add_option("--term-hours", flags.query.term_hours,
                  "of a reserved price, where there are several")
      ->needs(prices);
}

}  // namespace ferry::bench
