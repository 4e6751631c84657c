// Implements MigPlanAnswer(): asks for each way, and takes the one with the
// fewest devices; where several have as many, the one with the least to set up.
#include "deploy/ctl/mig_plan_answer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/plan/cost.h"
#include "bench/plan/number_text.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/cost_answers.h"
#include "deploy/ctl/mig_artifacts.h"

namespace ferry::ctl {
namespace {

using plan::NumberText;

// One way to serve all models.
struct Way {
  const char* name;
  const char* key;       // for findings
  const char* isolates;  // what one model cannot do to another
  plan::Formula formula;
  absl::StatusOr<int64_t> devices;
};

std::string Devices(int64_t count) {
  return absl::StrCat(count, count == 1 ? " device" : " devices");
}

absl::StatusOr<int64_t> SharedDevices(const MigQuestion& question,
                                      plan::SharedBy shared_by) {
  const auto shared = plan::PlanSharedDevices(
      question.device, question.file.models, question.headroom, shared_by);
  if (!shared.ok()) {
    return shared.status();
  }
  return shared->devices;
}

absl::StatusOr<plan::MigPacking> Pack(const MigQuestion& question) {
  std::optional<plan::MigCounts> layout;
  if (!question.layout.empty()) {
    const auto counts = plan::CheckLayout(question.device, question.layout);
    if (!counts.ok()) {
      return counts.status();
    }
    layout = *counts;
  }
  return plan::PackMig(question.device, question.file.models, question.headroom,
                       layout);
}

std::vector<Way> WaysOf(const MigQuestion& question,
                        const absl::StatusOr<plan::MigPacking>& packing) {
  const auto mig = packing.ok() ? absl::StatusOr<int64_t>(packing->devices)
                                : packing.status();
  return {{"one process", "one_process", "nothing", plan::kOneProcessDevices,
           SharedDevices(question, plan::SharedBy::kOneProcess)},
          {"MPS", "mps", "memory", plan::kMpsDevices,
           SharedDevices(question, plan::SharedBy::kMps)},
          {"MIG", "mig", "memory, faults and SMs", plan::kMigDevices, mig}};
}

// Says what each way takes, and which is the cheapest; each is paid for by the
// device, so the fewest devices are the cheapest.
absl::Status AddWays(const std::vector<Way>& ways, Answer& answer) {
  const Way* best = nullptr;
  std::vector<std::string> parts;
  for (const Way& way : ways) {
    if (!way.devices.ok()) {
      // What makes no sense is no reason to answer without it.
      if (!absl::IsFailedPrecondition(way.devices.status())) {
        return way.devices.status();
      }
      parts.push_back(absl::StrCat(way.name, ": unknown"));
      answer.findings.push_back(
          {Severity::kNote, absl::StrCat(way.key, "_is_unknown"),
           absl::StrCat(way.name, " is not compared: ",
                        std::string(way.devices.status().message()))});
      continue;
    }
    parts.push_back(absl::StrCat(way.name, ": ", Devices(*way.devices)));
    answer.numbers.push_back({way.formula, static_cast<double>(*way.devices)});
    if (best == nullptr || *way.devices < *best->devices) {
      best = &way;
    }
  }
  if (best == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrJoin(ways, "; ", [](std::string* out, const Way& way) {
          absl::StrAppend(out, way.name, ": ",
                          std::string(way.devices.status().message()));
        }));
  }
  answer.sentence = absl::StrCat("The cheapest is ", best->name, ", ",
                                 Devices(*best->devices), " (",
                                 absl::StrJoin(parts, ", "), ").");
  return absl::OkStatus();
}

void AddTable(const std::vector<Way>& ways, Answer& answer) {
  answer.table.headings = {"way", "isolates", "devices"};
  for (const Way& way : ways) {
    answer.table.rows.push_back(
        {way.name, way.isolates,
         way.devices.ok() ? absl::StrCat(*way.devices) : "unknown"});
  }
}

absl::Status AddMoney(const std::vector<Way>& ways, const MigPrices& prices,
                      Answer& answer) {
  const auto row = plan::FindPrice(prices.file.file, prices.query);
  if (!row.ok()) {
    return row.status();
  }
  NamePrices(prices.file, {{"price", *row}}, answer);
  const double device_per_hour = plan::DevicePerHour(*row);
  answer.numbers.push_back({plan::kDevicePerHour, device_per_hour});
  answer.table.headings.push_back(answer.currency + "/h");
  for (size_t i = 0; i < ways.size(); ++i) {
    std::string cell = "unknown";
    if (ways[i].devices.ok()) {
      const auto cost = plan::CostOfFleet(
          {.device_per_hour = device_per_hour,
           .replicas = *ways[i].devices,
           .devices_per_instance = row->devices_per_instance});
      if (!cost.ok()) {
        return cost.status();
      }
      cell = NumberText(cost->per_hour);
    }
    answer.table.rows[i].push_back(cell);
  }
  return absl::OkStatus();
}

// Says which profiles no model can be given, as none of its rates is of them.
void AddUnmeasured(const MigQuestion& question, Answer& answer) {
  std::vector<std::string> parts;
  for (const plan::MigModel& model : question.file.models) {
    std::vector<std::string> names;
    for (size_t i = 0; i < plan::kMigProfiles; ++i) {
      if (model.rates[i] == 0) {
        names.emplace_back(question.device.profiles[i].name);
      }
    }
    if (!names.empty()) {
      parts.push_back(
          absl::StrCat(model.name, ": ", absl::StrJoin(names, ", ")));
    }
  }
  if (!parts.empty()) {
    answer.findings.push_back(
        {Severity::kNote, "profiles_not_measured",
         absl::StrCat("without a measured rate a profile is not used: ",
                      absl::StrJoin(parts, "; "))});
  }
}

void AddLayout(const MigLayout& layout, Answer& answer) {
  const plan::MigPacking& packing = layout.packing;
  for (int64_t device = 0; device < packing.devices; ++device) {
    answer.inputs.emplace_back(absl::StrCat("slices of device ", device),
                               SlicesText(layout, device));
  }
  const auto held = static_cast<double>(packing.sms_held);
  const auto all = static_cast<double>(packing.devices * layout.device.sms);
  answer.numbers.push_back({plan::kSmsHeld, held});
  answer.numbers.push_back({plan::kSmsHeldShare, held / all});
  const plan::MigCounts smallest = {plan::kComputeSlices};
  answer.findings.push_back(
      {Severity::kNote, "slices_hold_sms",
       absl::StrCat("the slices hold ", NumberText(held), " of ",
                    NumberText(all), " SMs; ", plan::kComputeSlices, " of ",
                    layout.device.profiles[0].name, " hold ",
                    plan::SmsOf(layout.device, smallest), " of the ",
                    layout.device.sms, " of one ", layout.device.name)});
  answer.findings.push_back(
      {Severity::kNote, "a_slice_cannot_borrow",
       "a slice cannot borrow: what one model leaves idle, another cannot use, "
       "so each slice has its own headroom"});
  answer.findings.push_back(
      {Severity::kNote, "memory_of_slices",
       "a slice's memory is that of a table: `nvidia-smi mig -lgip` prints the "
       "device's own"});
}

void AddTrust(Answer& answer) {
  answer.findings.push_back(
      {Severity::kNote, "only_mig_isolates",
       "in one process and by MPS a fault of one model ends all of them: for "
       "tenants that trust each other alone; MIG costs more where it takes "
       "more devices, and keeps faults apart"});
}

}  // namespace

absl::StatusOr<MigQuestion> ReadMigQuestion(const std::string& device,
                                            const std::string& models_path) {
  const auto found = plan::FindMigDevice(device);
  if (!found.ok()) {
    return found.status();
  }
  const auto text = bench::ReadFile(models_path);
  if (!text.ok()) {
    return text.status();
  }
  auto file = plan::ParseMigModels(*text, models_path, *found);
  if (!file.ok()) {
    return file.status();
  }
  return MigQuestion{.device = *found, .file = *std::move(file)};
}

absl::StatusOr<Answer> MigPlanAnswer(const MigQuestion& question,
                                     const std::optional<MigPrices>& prices) {
  const auto packing = Pack(question);
  if (!question.artifact.empty() && !packing.ok()) {
    return packing.status();
  }
  Answer answer;
  answer.command = "mig-plan";
  answer.inputs = {{"device", absl::StrCat(question.device.name, ", ",
                                           question.device.source)},
                   {"rates", question.file.source},
                   {"headroom", NumberText(question.headroom)}};
  const std::vector<Way> ways = WaysOf(question, packing);
  absl::Status status = AddWays(ways, answer);
  if (!status.ok()) {
    return status;
  }
  AddTable(ways, answer);
  if (packing.ok()) {
    const MigLayout layout = {.device = question.device,
                              .models = question.file.models,
                              .packing = *packing};
    AddLayout(layout, answer);
    if (!question.artifact.empty()) {
      answer.artifact = MigArtifact(question.artifact, layout);
    }
  }
  AddUnmeasured(question, answer);
  AddTrust(answer);
  if (prices.has_value()) {
    status = AddMoney(ways, *prices, answer);
  }
  if (!status.ok()) {
    return status;
  }
  return answer;
}

}  // namespace ferry::ctl
