// Implements UnitsAnswer(): the variables are those of
// deploy/systemd/slice.env, which says what each means.
#include "deploy/ctl/units_answer.h"

#include "absl/strings/str_cat.h"
#include "deploy/launch/find_slices.h"

namespace ferry::ctl {
namespace {

using launch::ServerPlan;

constexpr int64_t kMiB = 1 << 20;

// Returns the name of the slice's GPU.
std::string GpuName(const nvml::Devices& devices, const std::string& uuid) {
  for (const nvml::Gpu& gpu : devices.gpus) {
    bool has_it = gpu.uuid == uuid;
    for (const nvml::MigDevice& mig : gpu.mig_devices) {
      has_it = has_it || mig.uuid == uuid;
    }
    if (has_it) {
      return gpu.name;
    }
  }
  return "";
}

std::string ProfileOf(const ServerPlan& plan) {
  return plan.slice.profile.empty() ? "whole" : plan.slice.profile;
}

// The device's name comes from the driver: a line's end in it would be a
// variable.
std::string OneLine(std::string text) {
  for (char& letter : text) {
    letter = static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return text;
}

std::string Contents(const ServerPlan& plan, const std::string& gpu_name) {
  std::string text = absl::StrCat("# By ferryctl units, for ferry@", plan.label,
                                  ": ", ProfileOf(plan), " of ", gpu_name);
  if (plan.slice.memory_bytes > 0) {
    absl::StrAppend(&text, ", ", plan.slice.memory_bytes / kMiB, " MiB");
  }
  return absl::StrCat(
      OneLine(text), ".\n# What each means: deploy/systemd/slice.env.",
      "\nFERRY_DEVICE=", plan.slice.uuid,
      "\nFERRY_GRPC_ADDRESS=", plan.grpc_address,
      "\nFERRY_GRPC_PORT=", plan.grpc_port,
      "\nFERRY_METRICS_ADDRESS=", plan.metrics_address,
      "\nFERRY_METRICS_PORT=", plan.metrics_port,
      "\nFERRY_TORCH=/opt/torch\nFERRY_MODELS=/var/lib/ferry/models"
      "\nFERRY_DRAIN_DELAY_SECS=10\nFERRY_EXIT_TIMEOUT_SECS=20"
      "\nFERRY_ARGUMENTS=\n");
}

std::string Artifact(const Units& units) {
  std::string text;
  for (const Finding& finding : units.answer.findings) {
    absl::StrAppend(&text, "# ", SeverityName(finding.severity), ": ",
                    OneLine(finding.text), "\n");
  }
  for (const EnvFile& file : units.files) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "# /etc/ferry/",
                    file.name(), "\n", file.contents);
  }
  return text;
}

}  // namespace

absl::StatusOr<Units> UnitsAnswer(const nvml::Devices& devices,
                                  const launch::PlanOptions& options) {
  const std::vector<launch::Slice> slices = launch::SlicesOf(devices);
  if (slices.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected a GPU without MIG, or a MIG device, NVML sees: ",
                     nvml::Describe(devices)));
  }
  const auto plans = launch::MakePlan(options, slices);
  if (!plans.ok()) {
    return plans.status();
  }
  Units units;
  Answer& answer = units.answer;
  answer.command = "units";
  answer.sentence =
      absl::StrCat("Servers: ", plans->size(), ", one a slice; gRPC at ",
                   options.grpc_address, ", ports from ", options.grpc_port,
                   " on; metrics at ", options.metrics_address, ", from ",
                   options.metrics_port, " on.");
  answer.table.headings = {"label",   "device", "name",
                           "profile", "grpc",   "metrics"};
  for (const ServerPlan& plan : *plans) {
    const std::string name = GpuName(devices, plan.slice.uuid);
    answer.table.rows.push_back({plan.label, plan.slice.uuid, name,
                                 ProfileOf(plan), absl::StrCat(plan.grpc_port),
                                 absl::StrCat(plan.metrics_port)});
    units.files.push_back(
        {.label = plan.label, .contents = Contents(plan, name)});
  }
  for (const std::string& left_out : launch::LeftOut(devices)) {
    answer.findings.push_back(
        {Severity::kWarning, "device_left_out", left_out});
  }
  answer.artifact = Artifact(units);
  return units;
}

}  // namespace ferry::ctl
