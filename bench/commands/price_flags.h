// PriceFlags tells a command the price of a device, by a price file and the
// flags that pick its row.
//
// Thread safety: plain values; functions of their arguments.
// Errors: those of bench/plan/price_file.h, and NOT_FOUND for a file that
// cannot be read.
#ifndef FERRY_BENCH_COMMANDS_PRICE_FLAGS_H_
#define FERRY_BENCH_COMMANDS_PRICE_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/commands/plan_result.h"
#include "bench/plan/price_file.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

struct PriceFlags {
  std::string path;  // empty: no price
  std::string kind = "on_demand";
  plan::PriceQuery query;
};

// Adds --prices, --device, --kind, --provider, --region and --term-hours to
// `command`; its parsing fills `flags`, which outlives it.
void AddPriceFlags(CLI::App& command, PriceFlags& flags);

// REQUIRES: a path.
absl::StatusOr<PlanPrice> ReadPrice(const PriceFlags& flags);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_PRICE_FLAGS_H_
