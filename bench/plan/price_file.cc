// Implements PriceFile: JSON to checked rows, and rows to the one asked for.
#include "bench/plan/price_file.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/plan/calendar.h"
#include "bench/plan/number_check.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {
namespace {

using Json = nlohmann::json;

constexpr double kMaxDevices = 1024;
constexpr char kKindNames[] = "'on_demand', 'reserved' or 'spot'";

// What a row's numbers must be together, beyond each alone.
void CheckPrice(const PriceRow& row, ObjectReader& reader) {
  const bool is_reserved = row.kind == PriceKind::kReserved;
  if (is_reserved && row.term_hours == 0) {
    reader.Refuse("term_hours", "the hours of a reserved row's term");
  }
  if (!is_reserved && row.term_hours != 0) {
    reader.Refuse("term_hours", "none but in a reserved row");
  }
  if (!is_reserved && row.upfront != 0) {
    reader.Refuse("upfront", "none but in a reserved row");
  }
  if (!CheckPositive("", DevicePerHour(row)).ok()) {
    reader.Refuse("per_hour", "a price above 0, there or upfront");
  }
}

absl::StatusOr<PriceRow> ParseRow(const Json& json, const std::string& where) {
  ObjectReader reader(json, where);
  PriceRow row;
  row.device = reader.Text("device", "a name");
  row.region = reader.Text("region", "a name");
  const auto kind = ParseKind(reader.Text("kind", kKindNames));
  if (!kind.ok()) {
    reader.Refuse("kind", kKindNames);
  }
  row.kind = kind.value_or(PriceKind::kOnDemand);
  row.per_hour = reader.Number(
      "per_hour", "the price of an instance for an hour", std::nullopt);
  const double devices = reader.Number("devices_per_instance", "a number", 1);
  if (devices < 1 || devices > kMaxDevices || devices != std::floor(devices)) {
    reader.Refuse("devices_per_instance",
                  absl::StrCat("a whole number from 1 to ", kMaxDevices));
    return reader.Finish();
  }
  row.devices_per_instance = static_cast<int64_t>(devices);
  row.upfront = reader.Number("upfront", "a price for the whole term", 0);
  row.term_hours = reader.Number("term_hours", "the hours of the term", 0);
  CheckPrice(row, reader);
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  return row;
}

bool Matches(const PriceRow& row, const PriceQuery& query) {
  return row.device == query.device && row.kind == query.kind &&
         row.region == query.region.value_or(row.region) &&
         row.term_hours == query.term_hours.value_or(row.term_hours);
}

absl::StatusOr<PriceFile> ParseFile(const Json& json, const std::string& name) {
  ObjectReader reader(json, name);
  PriceFile file;
  file.currency = reader.Text("currency", "a currency such as \"USD\"");
  file.as_of = reader.Text("as_of", "the day of the prices, \"YYYY-MM-DD\"");
  file.source = reader.Text("source", "a text that says who gives the prices");
  if (!ParseDay(file.as_of).has_value()) {
    reader.Refuse("as_of", "the day of the prices, \"YYYY-MM-DD\"");
  }
  const Json& rows = reader.List("rows", "a list of prices, one or more");
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string where = absl::StrCat(name, ": rows[", i, "]");
    auto row = ParseRow(rows[i], where);
    if (!row.ok()) {
      return row.status();
    }
    const PriceQuery same = {row->device, row->kind, row->region,
                             row->term_hours};
    for (const PriceRow& other : file.rows) {
      if (Matches(other, same)) {
        return absl::InvalidArgumentError(
            absl::StrCat(where,
                         ": expected one row for each device, region, kind "
                         "and term, got another of ",
                         Describe(*row)));
      }
    }
    file.rows.push_back(*std::move(row));
  }
  return file;
}

std::string List(const std::vector<PriceRow>& rows) {
  return absl::StrJoin(rows, "; ", [](std::string* out, const PriceRow& row) {
    absl::StrAppend(out, Describe(row));
  });
}

}  // namespace

const char* KindName(PriceKind kind) {
  switch (kind) {
    case PriceKind::kOnDemand:
      return "on_demand";
    case PriceKind::kReserved:
      return "reserved";
    case PriceKind::kSpot:
      return "spot";
  }
  return "";
}

absl::StatusOr<PriceKind> ParseKind(const std::string& name) {
  for (const PriceKind kind :
       {PriceKind::kOnDemand, PriceKind::kReserved, PriceKind::kSpot}) {
    if (name == KindName(kind)) {
      return kind;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind: expected ", kKindNames, ", got '", name, "'"));
}

double DevicePerHour(const PriceRow& row) {
  const double of_upfront =
      row.term_hours > 0 ? row.upfront / row.term_hours : 0;
  return (row.per_hour + of_upfront) /
         static_cast<double>(row.devices_per_instance);
}

std::string Describe(const PriceRow& row) {
  std::string text =
      absl::StrCat(row.device, ", ", KindName(row.kind), ", ", row.region);
  if (row.term_hours > 0) {
    absl::StrAppend(&text, ", ", row.term_hours, " h");
  }
  return text;
}

absl::StatusOr<PriceFile> ParsePrices(const std::string& text,
                                      const std::string& name) {
  const absl::StatusOr<Json> json = ParseObject(text, name);
  return json.ok() ? ParseFile(*json, name) : json.status();
}

absl::StatusOr<PriceRow> FindPrice(const PriceFile& prices,
                                   const PriceQuery& query) {
  std::vector<PriceRow> found;
  for (const PriceRow& row : prices.rows) {
    if (Matches(row, query)) {
      found.push_back(row);
    }
  }
  if (found.size() == 1) {
    return found[0];
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no price of '", query.device, "', ", KindName(query.kind),
                     query.region.has_value() ? ", " + *query.region : "",
                     "; there is: ", List(prices.rows)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected a region or term that leaves one price, got ",
                   found.size(), ": ", List(found)));
}

absl::StatusOr<std::string> AgeWarning(const PriceFile& prices,
                                       const std::string& today) {
  const auto day = ParseDay(today);
  const auto as_of = ParseDay(prices.as_of);
  if (!day.has_value() || !as_of.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected two days, \"YYYY-MM-DD\", got '", prices.as_of,
                     "' and '", today, "'"));
  }
  const auto age = (*day - *as_of).count();
  if (age < 0) {
    return absl::StrCat("prices are of ", prices.as_of, ", after today, ",
                        today);
  }
  if (age > kMaxPriceAgeDays) {
    return absl::StrCat("prices are of ", prices.as_of, ", ", age,
                        " days ago: look them up again (warned of after ",
                        kMaxPriceAgeDays, " days)");
  }
  return "";
}

absl::StatusOr<DatedPrices> ParseDatedPrices(const std::string& text,
                                             const std::string& name,
                                             const std::string& today) {
  auto file = ParsePrices(text, name);
  if (!file.ok()) {
    return file.status();
  }
  auto warning = AgeWarning(*file, today);
  if (!warning.ok()) {
    return warning.status();
  }
  return DatedPrices{.file = *std::move(file),
                     .age_warning = *std::move(warning)};
}

}  // namespace ferry::plan
