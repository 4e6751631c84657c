// Implements ParseMigModels(): JSON to checked models.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bench/plan/mig_plan.h"
#include "bench/plan/number_check.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {
namespace {

using Json = nlohmann::json;

constexpr double kSecondsPerDay = 86'400;
constexpr size_t kMaxNameLength = 63;  // as of a Kubernetes object
constexpr char kNameText[] =
    "a name of at most 63 letters, digits, '.', '_' and '-', the first a "
    "letter "
    "or digit";

// A name is written into files: nothing that could be more than a name.
bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kMaxNameLength &&
         absl::ascii_isalnum(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char letter) {
           return absl::ascii_isalnum(letter) || letter == '.' ||
                  letter == '_' || letter == '-';
         });
}

double PeakRate(ObjectReader& reader) {
  constexpr char kPeakText[] =
      "the requests/s to plan for, or requests_per_day and peak_factor";
  const double peak = reader.Number("peak_rate", kPeakText, 0);
  const double per_day =
      reader.Number("requests_per_day", "a number above 0", 0);
  const double factor =
      reader.Number("peak_factor", "the peak over the mean, 1 or more", 0);
  if ((peak > 0) == (per_day > 0) || (per_day > 0) != (factor > 0)) {
    reader.Refuse("peak_rate", kPeakText);
  }
  if (per_day > 0 && factor < 1) {
    reader.Refuse("peak_factor", "the peak over the mean, 1 or more");
  }
  return peak > 0 ? peak : per_day / kSecondsPerDay * factor;
}

// Reads a rate that may be absent, but not 0.
double Rate(ObjectReader& reader, const std::string& key) {
  constexpr char kRateText[] = "the requests/s within the SLO, above 0";
  const double rate = reader.Number(key, kRateText, 0);
  if (rate == 0 && reader.Find(key) != nullptr) {
    reader.Refuse(key, kRateText);
  }
  return rate;
}

absl::Status ReadRates(const Json& json, const std::string& where,
                       const MigDevice& device, MigModel& model) {
  ObjectReader reader(json, where);
  for (size_t i = 0; i < kMigProfiles; ++i) {
    model.rates[i] = Rate(reader, device.profiles[i].name);
  }
  model.whole_rate = Rate(reader, "whole");
  model.mps_rate = Rate(reader, "mps");
  return reader.Finish();
}

absl::StatusOr<MigModel> ParseModel(const Json& json, const std::string& where,
                                    const MigDevice& device) {
  constexpr char kMemoryText[] =
      "the MiB of a process that serves it, at its peak, above 0";
  ObjectReader reader(json, where);
  MigModel model;
  model.name = reader.Text("name", kNameText);
  if (!IsName(model.name)) {
    reader.Refuse("name", kNameText);
  }
  model.peak_rate = PeakRate(reader);
  model.memory_mib = reader.Number("memory_mib", kMemoryText, std::nullopt);
  if (model.memory_mib == 0) {
    reader.Refuse("memory_mib", kMemoryText);
  }
  const Json* const rates = reader.Find("rate");
  if (rates == nullptr) {
    reader.Refuse("rate", "an object of measured rates");
  }
  absl::Status status = reader.Finish();
  if (status.ok()) {
    status = ReadRates(*rates, absl::StrCat(where, ": rate"), device, model);
  }
  if (!status.ok()) {
    return status;
  }
  return model;
}

// Refuses rates of another device than the one that is planned for.
void CheckDevice(ObjectReader& reader, const MigDevice& device) {
  const std::string expected =
      absl::StrCat("rates measured on ", device.name, ", as --device has it");
  const auto measured = FindMigDevice(reader.Text("device", expected));
  if (!measured.ok() || measured->name != std::string(device.name)) {
    reader.Refuse("device", expected);
  }
}

}  // namespace

absl::StatusOr<MigModelFile> ParseMigModels(const std::string& text,
                                            const std::string& name,
                                            const MigDevice& device) {
  const absl::StatusOr<Json> json = ParseObject(text, name);
  if (!json.ok()) {
    return json.status();
  }
  ObjectReader reader(*json, name);
  CheckDevice(reader, device);
  MigModelFile file;
  file.source =
      reader.Text("source", "a text that says where the rates are from");
  const std::string count_text =
      absl::StrCat("a list of 1 to ", kMaxMigModels, " models");
  const Json& list = reader.List("models", count_text);
  if (list.size() > kMaxMigModels) {
    reader.Refuse("models", count_text);
  }
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  std::vector<MigModel>& models = file.models;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = absl::StrCat(name, ": models[", i, "]");
    auto model = ParseModel(list[i], where, device);
    if (!model.ok()) {
      return model.status();
    }
    if (std::any_of(models.begin(), models.end(), [&](const MigModel& other) {
          return other.name == model->name;
        })) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": expected each model once, got another '",
                       model->name, "'"));
    }
    models.push_back(*std::move(model));
  }
  return file;
}

}  // namespace ferry::plan
