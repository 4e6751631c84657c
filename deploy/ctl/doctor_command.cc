// Implements `ferryctl doctor`: looks at the machine, and says what keeps
// servers from their devices. It changes nothing.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deploy/ctl/commands.h"
#include "deploy/ctl/doctor_checks.h"
#include "deploy/ctl/doctor_facts.h"
#include "models/nvml/library.h"

namespace ferry::ctl {
namespace {

struct DoctorFlags {
  std::vector<std::string> server_arguments;
  std::string env_folder = "/etc/ferry";
  std::string root;
};

absl::StatusOr<Answer> Ask(const DoctorFlags& flags) {
  std::optional<NamedValues> server_flags;
  if (!flags.server_arguments.empty()) {
    auto parsed = ParseServerFlags(flags.server_arguments);
    if (!parsed.ok()) {
      return parsed.status();
    }
    server_flags = *std::move(parsed);
  }
  return DoctorAnswer(
      FactGatherer(flags.root)
          .Gather(nvml::Library::Open(), server_flags, flags.env_folder));
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<DoctorFlags>();
  CLI::App& command = *app.add_subcommand(
      "doctor", "say what keeps servers from their devices, and what to do");
  command
      .add_option("--env", flags->env_folder,
                  "folder of the env files of ferry@.service, below --root")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--root", flags->root,
                  "where /proc, /sys, /dev and /etc are, such as a host's in a "
                  "container; NVML is this machine's [/]")
      ->type_name("DIR");
  command
      .add_option("flags", flags->server_arguments,
                  "flags of a ferry-server behind --, instead of env files")
      ->type_name("FLAGS");
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
