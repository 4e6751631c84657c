// PriceFlags are those that give prices and pick one of them; each command that
// asks for a price has some of them.
//
// Thread safety: free functions.
// Errors: of a file that cannot be read or is no price file, of a Prometheus
// that does not answer or has no prices.
#ifndef FERRY_DEPLOY_CTL_PRICE_FLAGS_H_
#define FERRY_DEPLOY_CTL_PRICE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/plan/price_file.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/recording_source.h"

namespace ferry::ctl {

// Where prices are read.
struct PriceSource {
  std::string from;  // a file, or the URL of a Prometheus; empty: nowhere
  std::optional<std::string> currency;  // of those in Prometheus; else USD
  HttpFiles http;
};

// Reads the file and, on today's date, its age; or OpenCost's prices of today.
absl::StatusOr<plan::DatedPrices> ReadPrices(const PriceSource& source);

// Refuses a token that would go to two servers: to that which is asked `from`,
// "" for none, and to a Prometheus with the prices.
absl::Status CheckTokenIsForOne(const HttpFiles& http, const std::string& from,
                                const PriceSource& prices);

// The same of a command that has a recording, too: token and root certificates
// are for both. Errors also as of CheckTokenIsForOne().
absl::StatusOr<plan::DatedPrices> ReadPricesBeside(
    const RecordingFlags& recording, PriceSource source);

// Returns --prices, beside which it adds --currency. What a Prometheus needs
// beyond these AddHttpFlags() adds, once for all that a command reads.
CLI::Option* AddPricesFlag(CLI::App& command, PriceSource& source);
// `kind` is one that plan::ParseKind() knows.
CLI::Option* AddKindFlag(CLI::App& command, std::string& kind);
CLI::Option* AddProviderFlag(CLI::App& command,
                             std::optional<std::string>& provider);
CLI::Option* AddRegionFlag(CLI::App& command,
                           std::optional<std::string>& region);
CLI::Option* AddTermFlag(CLI::App& command, std::optional<double>& term_hours);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PRICE_FLAGS_H_
