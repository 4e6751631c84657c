// PriceFile says what devices cost an hour, from which source and of which day.
// Ferry ships no prices, only a sample of the format, examples/prices.json;
// docs/planning.md has each key.
//
// Thread safety: plain values and free functions over them.
// Errors: INVALID_ARGUMENT for a file that is not as expected, NOT_FOUND for a
// price that it does not have; with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_PRICE_FILE_H_
#define FERRY_BENCH_PLAN_PRICE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry::plan {

enum class PriceKind { kOnDemand, kReserved, kSpot };

// Returns "on_demand", "reserved" or "spot".
const char* KindName(PriceKind kind);

absl::StatusOr<PriceKind> ParseKind(const std::string& name);

// What devices cost beside their price: people, electricity, support.
struct Overhead {
  std::string name;
  // One of the two, the other is 0.
  double per_hour = 0;  // of one device
  double share = 0;     // of the device's price, (0, 1]
};

// The price of an instance, in the currency of its file.
struct PriceRow {
  std::string device;
  std::string provider = "";  // empty: not said
  std::string region;
  PriceKind kind = PriceKind::kOnDemand;
  double per_hour = 0;
  int64_t devices_per_instance = 1;
  double upfront = 0;     // for the whole term; reserved only
  double term_hours = 0;  // reserved only
  // Those of all overheads of the file together.
  double overhead_per_hour = 0;
  double overhead_share = 0;
};

// The price of an instance with its overheads: an hour, and upfront.
double InstancePerHour(const PriceRow& row);
double InstanceUpfront(const PriceRow& row);

// Returns kDevicePerHour: money an hour for one device, upfront and overheads
// included.
double DevicePerHour(const PriceRow& row);

// Returns "L4, on_demand, us-east", with the provider before the region where
// it is known, and the hours of a term.
std::string Describe(const PriceRow& row);

struct PriceFile {
  std::string currency;
  std::string as_of;   // the day of the prices, "2026-01-31"
  std::string source;  // where they were read
  std::vector<PriceRow> rows;
  std::vector<Overhead> overheads = {};
};

// Returns the overheads for people, "staff, 0.1 USD an hour; power, 20 %"; ""
// where there are none.
std::string DescribeOverheads(const PriceFile& prices);

// `name` is for messages. Refuses unknown keys, and two rows of one device,
// provider, region, kind and term.
absl::StatusOr<PriceFile> ParsePrices(const std::string& text,
                                      const std::string& name);

struct PriceQuery {
  std::string device;
  PriceKind kind = PriceKind::kOnDemand;
  std::optional<std::string> region = std::nullopt;
  std::optional<double> term_hours = std::nullopt;
  std::optional<std::string> provider = std::nullopt;
};

// Returns the one row that matches; none and several are errors that list
// what there is.
absl::StatusOr<PriceRow> FindPrice(const PriceFile& prices,
                                   const PriceQuery& query);

inline constexpr int kMaxPriceAgeDays = 90;

// Returns what to say about prices older than kMaxPriceAgeDays on the day
// `today` ("2026-01-31"), or of a day after it; "" where they are neither.
absl::StatusOr<std::string> AgeWarning(const PriceFile& prices,
                                       const std::string& today);

struct DatedPrices {
  PriceFile file;
  std::string age_warning;  // empty: they are fresh
};

// Returns what ParsePrices() and, on the day `today`, AgeWarning() do.
absl::StatusOr<DatedPrices> ParseDatedPrices(const std::string& text,
                                             const std::string& name,
                                             const std::string& today);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_PRICE_FILE_H_
