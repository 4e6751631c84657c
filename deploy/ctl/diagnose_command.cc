// Implements `ferryctl diagnose`: from a recording, or a batch's operations and
// bytes, to what bounds the device.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/diagnose_answer.h"
#include "deploy/ctl/recording_source.h"

namespace ferry::ctl {
namespace {

struct DiagnoseFlags {
  RecordingFlags recording;
  bool is_roofline = false;
  std::string devices_path;
  RooflineQuestion question;
};

absl::StatusOr<Answer> Ask(const DiagnoseFlags& flags) {
  if (!flags.is_roofline) {
    const auto named = Record(flags.recording);
    return named.ok() ? DiagnoseAnswer(named->recording, named->source)
                      : named.status();
  }
  const auto text = bench::ReadFile(flags.devices_path);
  if (!text.ok()) {
    return text.status();
  }
  const auto devices = plan::ParseDevices(*text, flags.devices_path);
  return devices.ok() ? RooflineAnswer(flags.question, *devices)
                      : devices.status();
}

void AddRooflineFlags(CLI::App& command, DiagnoseFlags& flags) {
  CLI::Option* const devices =
      command
          .add_option("--devices", flags.devices_path,
                      "devices and what they can do; examples/devices.json")
          ->type_name("FILE");
  CLI::Option* const device = command.add_option(
      "--device", flags.question.device, "one of them by its name");
  plan::RooflineInput& input = flags.question.input;
  CLI::Option* const flops =
      command.add_option("--flops-per-row", input.flops_per_row,
                         "operations that a row of a batch takes");
  command
      .add_option("--bytes-per-row", input.bytes_per_row,
                  "bytes of the device's memory that a row reads and writes")
      ->capture_default_str();
  command
      .add_option("--weight-bytes", input.weight_bytes,
                  "bytes of the weights, read once a batch")
      ->capture_default_str();
  command.add_option("--rows", input.rows, "rows of a batch")
      ->capture_default_str();
  command
      .add_flag("--roofline", flags.is_roofline,
                "say what bounds a batch on a device, without a recording")
      ->needs(devices)
      ->needs(device)
      ->needs(flops);
}

}  // namespace

void AddDiagnoseCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<DiagnoseFlags>();
  CLI::App& command = *app.add_subcommand(
      "diagnose", "say why a device does no more, and what to change");
  AddRecordingFlags(command, flags->recording);
  AddRooflineFlags(command, *flags);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
