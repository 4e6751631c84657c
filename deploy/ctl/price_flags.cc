// Implements PriceFlags.
#include "deploy/ctl/price_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bench/report/machine.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/opencost_prices.h"
#include "flags/value_checks.h"

namespace ferry::ctl {

absl::StatusOr<plan::DatedPrices> ReadPrices(const PriceSource& source) {
  if (absl::StrContains(source.from, "://")) {
    const auto prometheus =
        MakeHttpSource("--prices", source.from, source.http);
    return prometheus.ok()
               ? PricesOfOpenCost(*prometheus, source.currency.value_or("USD"))
               : prometheus.status();
  }
  if (source.currency.has_value()) {
    return absl::InvalidArgumentError(
        "--currency: expected with prices of a Prometheus, got a file, which "
        "has its own");
  }
  const auto text = bench::ReadFile(source.from);
  return text.ok() ? plan::ParseDatedPrices(*text, source.from,
                                            bench::DateNow().substr(0, 10))
                   : text.status();
}

absl::Status CheckTokenIsForOne(const HttpFiles& http, const std::string& from,
                                const PriceSource& prices) {
  if (http.token.empty() || from.empty() || prices.from == from ||
      !absl::StrContains(prices.from, "://")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--token-file: expected one server that takes the token, got ", from,
      " and ", prices.from, "; write the prices into a file"));
}

absl::StatusOr<plan::DatedPrices> ReadPricesBeside(
    const RecordingFlags& recording, PriceSource source) {
  if (absl::Status status =
          CheckTokenIsForOne(recording.http, recording.server(), source);
      !status.ok()) {
    return status;
  }
  source.http = recording.http;
  return ReadPrices(source);
}

CLI::Option* AddPricesFlag(CLI::App& command, PriceSource& source) {
  CLI::Option* const prices =
      command
          .add_option("--prices", source.from,
                      "price file, docs/planning.md; or http://... of a "
                      "Prometheus that scrapes OpenCost")
          ->type_name("FILE|URL");
  command
      .add_option("--currency", source.currency,
                  "that OpenCost is set to; default: USD")
      ->needs(prices);
  return prices;
}

CLI::Option* AddKindFlag(CLI::App& command, std::string& kind) {
  return command.add_option("--kind", kind, "which price")
      ->capture_default_str()
      ->check(OneOf({plan::KindName(plan::PriceKind::kOnDemand),
                     plan::KindName(plan::PriceKind::kReserved),
                     plan::KindName(plan::PriceKind::kSpot)}));
}

CLI::Option* AddProviderFlag(CLI::App& command,
                             std::optional<std::string>& provider) {
  return command.add_option("--provider", provider,
                            "where the device has prices of several");
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
