// Implements PlanShared(): adds what models take of a device, hour by hour.
#include "bench/plan/shared_capacity.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {
namespace {

using Json = nlohmann::json;

absl::StatusOr<ModelDay> ParseModel(const Json& json,
                                    const std::string& where) {
  constexpr char kRates[] =
      "24 numbers of 0 or more, one of them above 0: the peak of each hour in "
      "requests/s";
  ObjectReader reader(json, where);
  ModelDay day;
  day.name = reader.Text("name", "a name");
  constexpr char kLambdaMaxKey[] = "lambda_max";
  constexpr char kLambdaMaxText[] =
      "the requests/s of one device within the SLO, above 0";
  day.lambda_max = reader.Number(kLambdaMaxKey, kLambdaMaxText, std::nullopt);
  if (day.lambda_max == 0) {
    reader.Refuse(kLambdaMaxKey, kLambdaMaxText);
  }
  const Json& rates = reader.List("peak_rates", kRates);
  bool is_right = rates.size() == kHoursOfDay;
  for (size_t hour = 0; is_right && hour < kHoursOfDay; ++hour) {
    is_right = rates[hour].is_number() &&
               CheckNotNegative("", rates[hour].get<double>()).ok();
    day.peak_rates[hour] = is_right ? rates[hour].get<double>() : 0;
  }
  if (!is_right ||
      *std::max_element(day.peak_rates.begin(), day.peak_rates.end()) == 0) {
    reader.Refuse("peak_rates", kRates);
  }
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  return day;
}

}  // namespace

absl::StatusOr<std::vector<ModelDay>> ParseModelDays(const std::string& text,
                                                     const std::string& name) {
  const absl::StatusOr<Json> json = ParseObject(text, name);
  if (!json.ok()) {
    return json.status();
  }
  ObjectReader reader(*json, name);
  const Json& models = reader.List("models", "a list of models, one or more");
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  std::vector<ModelDay> days;
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string where = absl::StrCat(name, ": models[", i, "]");
    auto day = ParseModel(models[i], where);
    if (!day.ok()) {
      return day.status();
    }
    if (std::any_of(days.begin(), days.end(), [&](const ModelDay& other) {
          return other.name == day->name;
        })) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": expected each model once, got another '", day->name, "'"));
    }
    days.push_back(*std::move(day));
  }
  return days;
}

absl::StatusOr<SharedCapacity> PlanShared(const std::vector<ModelDay>& models,
                                          double headroom) {
  if (absl::Status status = CheckHeadroom(headroom); !status.ok()) {
    return status;
  }
  SharedCapacity shared;
  double apart = 0;
  for (const ModelDay& model : models) {
    const double safe = model.lambda_max * headroom;
    for (size_t hour = 0; hour < kHoursOfDay; ++hour) {
      shared.devices_used[hour] += model.peak_rates[hour] / safe;
    }
    apart += CeilCount(
        *std::max_element(model.peak_rates.begin(), model.peak_rates.end()) /
        safe);
  }
  const auto busiest =
      std::max_element(shared.devices_used.begin(), shared.devices_used.end());
  const double together = CeilCount(*busiest);
  if (apart > static_cast<double>(kMaxReplicas)) {
    return absl::InvalidArgumentError(
        absl::StrCat("peak_rates: expected what ", kMaxReplicas,
                     " devices carry, got what takes ", apart));
  }
  shared.busiest_hour =
      static_cast<size_t>(busiest - shared.devices_used.begin());
  shared.devices = static_cast<int64_t>(together);
  shared.devices_apart = static_cast<int64_t>(apart);
  return shared;
}

}  // namespace ferry::plan
