// Implements `ferryctl units`: from what NVML sees to env files. It starts
// nothing.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/replaced_file.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/units_answer.h"
#include "flags/value_checks.h"
#include "models/nvml/library.h"

namespace ferry::ctl {
namespace {

constexpr int kMaxPort = 65535;

struct UnitsFlags {
  launch::PlanOptions plan;
  std::string folder;  // empty: print
  bool may_replace = false;
};

// What a folder has already of the files.
struct Folder {
  std::vector<const EnvFile*> to_write;
  std::vector<std::string> unchanged;
  std::vector<std::string> other;  // contents than those to write
};

absl::StatusOr<Folder> Look(const std::vector<EnvFile>& files,
                            const std::string& folder) {
  Folder found;
  for (const EnvFile& file : files) {
    const std::string path = absl::StrCat(folder, "/", file.name());
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error) {
      found.to_write.push_back(&file);
      continue;
    }
    const auto there = bench::ReadFile(path);
    if (!there.ok()) {
      return there.status();
    }
    if (*there == file.contents) {
      found.unchanged.push_back(file.name());
      continue;
    }
    found.other.push_back(file.name());
    found.to_write.push_back(&file);
  }
  return found;
}

// Nothing is written where one file is not to be replaced.
absl::Status Write(const UnitsFlags& flags, Units& units) {
  std::error_code error;
  if (!std::filesystem::is_directory(flags.folder, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out: expected a folder, got '", flags.folder, "'"));
  }
  const auto found = Look(units.files, flags.folder);
  if (!found.ok()) {
    return found.status();
  }
  if (!found->other.empty() && !flags.may_replace) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--out: expected no other contents in ", flags.folder,
        ", found them "
        "in ",
        absl::StrJoin(found->other, ", "),
        "; nothing was written: give another folder, or --replace"));
  }
  std::vector<std::string> written;
  for (const EnvFile* const file : found->to_write) {
    const std::string path = absl::StrCat(flags.folder, "/", file->name());
    if (absl::Status status = ReplaceFile(path, file->contents); !status.ok()) {
      return status;
    }
    written.push_back(file->name());
  }
  const auto add = [&units](const char* name,
                            const std::vector<std::string>& names) {
    if (!names.empty()) {
      units.answer.inputs.emplace_back(name, absl::StrJoin(names, ", "));
    }
  };
  units.answer.inputs.emplace_back("folder", flags.folder);
  add("written", written);
  add("unchanged", found->unchanged);
  units.answer.inputs.emplace_back(
      "to start them",
      absl::StrCat("systemctl enable --now ",
                   absl::StrJoin(units.files, " ",
                                 [](std::string* out, const EnvFile& file) {
                                   absl::StrAppend(out, "ferry@", file.label);
                                 }),
                   " ferry.target"));
  units.answer.artifact.clear();
  return absl::OkStatus();
}

absl::StatusOr<Answer> Ask(const UnitsFlags& flags) {
  const auto library = nvml::Library::Open();
  if (!library.ok()) {
    return library.status();
  }
  const auto devices = nvml::ListDevices(**library);
  if (!devices.ok()) {
    return devices.status();
  }
  auto units = UnitsAnswer(*devices, flags.plan);
  if (!units.ok()) {
    return units.status();
  }
  if (!flags.folder.empty()) {
    if (absl::Status status = Write(flags, *units); !status.ok()) {
      return status;
    }
  }
  return units->answer;
}

}  // namespace

void AddUnitsCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<UnitsFlags>();
  CLI::App& command = *app.add_subcommand(
      "units", "print or write an env file of ferry@.service for each slice");
  const auto add_port = [&command](const char* name, int& port,
                                   const char* text) {
    command.add_option(name, port, text)
        ->check(IntegerFrom(1, kMaxPort))
        ->type_name("PORT")
        ->capture_default_str();
  };
  add_port("--grpc-port", flags->plan.grpc_port,
           "port of the first server; the next ones follow");
  add_port("--metrics-port", flags->plan.metrics_port,
           "port of the first server's metrics; the next ones follow");
  CLI::Option* const out =
      command
          .add_option("--out", flags->folder,
                      "write the files into this folder, such as /etc/ferry; "
                      "none with other contents is replaced")
          ->type_name("DIR");
  command
      .add_flag("--replace", flags->may_replace,
                "replace files of --out that have other contents")
      ->needs(out);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
