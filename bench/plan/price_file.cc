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
constexpr double kPercent = 100;
constexpr char kShareText[] = "a share above 0, of 1 at most";
constexpr char kPerHourText[] = "money above 0 for an hour of a device";
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
  if (reader.Find("provider") != nullptr) {
    row.provider = reader.Text("provider", "a name");
  }
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
         row.term_hours == query.term_hours.value_or(row.term_hours) &&
         row.provider == query.provider.value_or(row.provider);
}

absl::StatusOr<Overhead> ParseOverhead(const Json& json,
                                       const std::string& where) {
  ObjectReader reader(json, where);
  Overhead overhead;
  overhead.name = reader.Text("name", "a name");
  const bool is_share = reader.Find("share") != nullptr;
  if (is_share == (reader.Find("per_hour") != nullptr)) {
    reader.Refuse("share",
                  is_share ? "none beside per_hour" : "a share or per_hour");
  } else if (is_share) {
    overhead.share = reader.Number("share", kShareText, std::nullopt);
    if (!(overhead.share > 0 && overhead.share <= 1)) {
      reader.Refuse("share", kShareText);
    }
  } else {
    overhead.per_hour = reader.Number("per_hour", kPerHourText, std::nullopt);
    if (!(overhead.per_hour > 0)) {
      reader.Refuse("per_hour", kPerHourText);
    }
  }
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  return overhead;
}

absl::Status ParseOverheads(const Json& list, const std::string& name,
                            PriceFile& file) {
  for (size_t i = 0; i < list.size(); ++i) {
    auto overhead =
        ParseOverhead(list[i], absl::StrCat(name, ": overheads[", i, "]"));
    if (!overhead.ok()) {
      return overhead.status();
    }
    file.overheads.push_back(*std::move(overhead));
  }
  return absl::OkStatus();
}

void AddOverheads(const std::vector<Overhead>& overheads, PriceRow& row) {
  for (const Overhead& overhead : overheads) {
    row.overhead_per_hour += overhead.per_hour;
    row.overhead_share += overhead.share;
  }
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
  const bool has_overheads = reader.Find("overheads") != nullptr;
  const Json overheads =
      has_overheads
          ? reader.List("overheads", "a list of overheads, one or more")
          : Json::array();
  absl::Status status = reader.Finish();
  status.Update(ParseOverheads(overheads, name, file));
  if (!status.ok()) {
    return status;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string where = absl::StrCat(name, ": rows[", i, "]");
    auto row = ParseRow(rows[i], where);
    if (!row.ok()) {
      return row.status();
    }
    const PriceQuery same = {.device = row->device,
                             .kind = row->kind,
                             .region = row->region,
                             .term_hours = row->term_hours,
                             .provider = row->provider};
    for (const PriceRow& other : file.rows) {
      if (Matches(other, same)) {
        return absl::InvalidArgumentError(
            absl::StrCat(where,
                         ": expected one row for each device, provider, "
                         "region, kind and term, got another of ",
                         Describe(*row)));
      }
    }
    AddOverheads(file.overheads, *row);
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

double InstancePerHour(const PriceRow& row) {
  return row.per_hour * (1 + row.overhead_share) +
         row.overhead_per_hour * static_cast<double>(row.devices_per_instance);
}

double InstanceUpfront(const PriceRow& row) {
  return row.upfront * (1 + row.overhead_share);
}

double DevicePerHour(const PriceRow& row) {
  const double of_upfront =
      row.term_hours > 0 ? InstanceUpfront(row) / row.term_hours : 0;
  return (InstancePerHour(row) + of_upfront) /
         static_cast<double>(row.devices_per_instance);
}

std::string Describe(const PriceRow& row) {
  std::string text =
      absl::StrCat(row.device, ", ", KindName(row.kind), ", ", row.provider,
                   row.provider.empty() ? "" : ", ", row.region);
  if (row.term_hours > 0) {
    absl::StrAppend(&text, ", ", row.term_hours, " h");
  }
  return text;
}

std::string DescribeOverheads(const PriceFile& prices) {
  return absl::StrJoin(
      prices.overheads, "; ",
      [&prices](std::string* out, const Overhead& overhead) {
        absl::StrAppend(out, overhead.name, ", ");
        if (overhead.share > 0) {
          absl::StrAppend(out, overhead.share * kPercent, " % of the price");
        } else {
          absl::StrAppend(out, overhead.per_hour, " ", prices.currency,
                          " an hour of a device");
        }
      });
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
    return absl::NotFoundError(absl::StrCat(
        "no price of '", query.device, "', ", KindName(query.kind),
        query.provider.value_or("").empty() ? "" : ", " + *query.provider,
        query.region.has_value() ? ", " + *query.region : "",
        "; there is: ", List(prices.rows)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a provider, region or term that leaves one price, got ",
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
