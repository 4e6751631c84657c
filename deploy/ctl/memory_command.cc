// Implements `ferryctl memory`: from parameters or a file of weights to
// devices.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_text.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/memory_answer.h"
#include "flags/value_checks.h"
#include "models/files/safetensors.h"

namespace ferry::ctl {
namespace {

struct MemoryFlags {
  std::optional<double> parameters;
  std::string type = "bf16";
  std::string weights_path;
  std::string devices_path;
  MemoryQuestion question;
};

double BytesOf(const std::string& type) {
  static const std::map<std::string, double> bytes = {
      {"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"int8", 1}};
  return bytes.at(type);
}

absl::Status ReadWeights(const MemoryFlags& flags, MemoryQuestion& question) {
  if (flags.parameters.has_value() == !flags.weights_path.empty()) {
    return absl::InvalidArgumentError(
        "memory: expected one of --parameters and --weights");
  }
  if (flags.parameters.has_value()) {
    const auto bytes =
        plan::WeightBytes(*flags.parameters, BytesOf(flags.type));
    if (!bytes.ok()) {
      return bytes.status();
    }
    question.input.weight_bytes = *bytes;
    question.weights = absl::StrCat(plan::NumberText(*flags.parameters),
                                    " parameters in ", flags.type);
    return absl::OkStatus();
  }
  const auto file = SafetensorsFile::Open(flags.weights_path);
  if (!file.ok()) {
    return file.status();
  }
  for (const SafetensorsTensor& tensor : (*file)->tensors()) {
    question.input.weight_bytes += static_cast<double>(tensor.size);
  }
  question.weights =
      absl::StrCat(flags.weights_path, ", tensors: ", (*file)->tensors().size(),
                   ", in the types that it has them in");
  return absl::OkStatus();
}

absl::StatusOr<Answer> Ask(const MemoryFlags& flags) {
  MemoryQuestion question = flags.question;
  if (absl::Status status = ReadWeights(flags, question); !status.ok()) {
    return status;
  }
  if (flags.devices_path.empty()) {
    return MemoryAnswer(question, std::nullopt);
  }
  const auto text = bench::ReadFile(flags.devices_path);
  if (!text.ok()) {
    return text.status();
  }
  const auto devices = plan::ParseDevices(*text, flags.devices_path);
  return devices.ok() ? MemoryAnswer(question, *devices) : devices.status();
}

}  // namespace

void AddMemoryCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<MemoryFlags>();
  CLI::App& command = *app.add_subcommand(
      "memory", "say what a model takes of a device's memory");
  command.add_option("--parameters", flags->parameters,
                     "numbers that the model has learned: 7e9");
  command.add_option("--type", flags->type, "type that they are served in")
      ->capture_default_str()
      ->check(OneOf({"fp32", "bf16", "fp16", "int8"}));
  command
      .add_option("--weights", flags->weights_path,
                  "file of weights, .safetensors, instead")
      ->type_name("FILE");
  command
      .add_option("--activation-bytes-per-row",
                  flags->question.input.activation_bytes_per_row,
                  "what a row of a batch takes beside the weights")
      ->capture_default_str();
  command.add_option("--rows", flags->question.input.rows, "rows of a batch")
      ->capture_default_str();
  command
      .add_option("--devices", flags->devices_path,
                  "devices to fit it on; examples/devices.json")
      ->type_name("FILE");
  command
      .add_option("--reserve-share", flags->question.reserve_share,
                  "of a device's memory, for driver, libraries and gaps")
      ->capture_default_str();
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
