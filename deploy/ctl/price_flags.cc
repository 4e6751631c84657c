// Implements PriceFlags.
#include "deploy/ctl/price_flags.h"

#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "flags/value_checks.h"

namespace ferry::ctl {

absl::StatusOr<plan::DatedPrices> ReadPrices(const std::string& path) {
  const auto text = bench::ReadFile(path);
  return text.ok() ? plan::ParseDatedPrices(*text, path,
                                            bench::DateNow().substr(0, 10))
                   : text.status();
}

CLI::Option* AddPricesFlag(CLI::App& command, std::string& path) {
  return command.add_option("--prices", path, "price file; docs/planning.md")
      ->type_name("FILE");
}

CLI::Option* AddKindFlag(CLI::App& command, std::string& kind) {
  return command.add_option("--kind", kind, "which price")
      ->capture_default_str()
      ->check(OneOf({plan::KindName(plan::PriceKind::kOnDemand),
                     plan::KindName(plan::PriceKind::kReserved),
                     plan::KindName(plan::PriceKind::kSpot)}));
}

CLI::Option* AddRegionFlag(CLI::App& command,
                           std::optional<std::string>& region) {
  return command.add_option("--region", region,
                            "where the device has prices of several");
}

CLI::Option* AddTermFlag(CLI::App& command, std::optional<double>& term_hours) {
  return command.add_option("--term-hours", term_hours,
                            "of a reserved price, where there are several");
}

}  // namespace ferry::ctl
