// PriceFlags are those that give a price file and pick a row of it; each
// command that asks for a price has some of them.
//
// Thread safety: free functions.
// Errors: of a file that cannot be read or is no price file.
#ifndef FERRY_DEPLOY_CTL_PRICE_FLAGS_H_
#define FERRY_DEPLOY_CTL_PRICE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/plan/price_file.h"

namespace ferry::ctl {

// Reads the file and, on today's date, its age.
absl::StatusOr<plan::DatedPrices> ReadPrices(const std::string& path);

CLI::Option* AddPricesFlag(CLI::App& command, std::string& path);
// `kind` is one that plan::ParseKind() knows.
CLI::Option* AddKindFlag(CLI::App& command, std::string& kind);
CLI::Option* AddRegionFlag(CLI::App& command,
                           std::optional<std::string>& region);
CLI::Option* AddTermFlag(CLI::App& command, std::optional<double>& term_hours);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PRICE_FLAGS_H_
