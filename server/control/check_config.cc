// Implements CheckConfig: loads model by model, and goes on after a failure.
#include "server/control/check_config.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/control/load_warnings.h"

namespace ferry {
namespace {

// Leaves out where in its code a script failed; the log of a load has it. What
// went wrong follows a trace, as in "RuntimeError: ...".
std::string WithoutTraces(absl::string_view text) {
  std::vector<absl::string_view> lines;
  bool is_trace = false;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::StrContains(line, "Traceback of TorchScript")) {
      is_trace = true;
    } else if (line[0] != ' ' && absl::StrContains(line, "Error: ")) {
      is_trace = false;
    }
    if (!is_trace) {
      lines.push_back(line);
    }
  }
  return absl::StrJoin(lines, "\n# ");
}

// Adds lines that do no harm where all that is printed is pasted.
void AddComment(absl::string_view text, ConfigCheck& check) {
  absl::StrAppend(&check.text, "# ", WithoutTraces(text), "\n");
}

void AddFailure(const std::string& name, const absl::Status& status,
                ConfigCheck& check) {
  check.is_good = false;
  AddComment(absl::StrCat(name, ": cannot be served: ", status.message()),
             check);
  check.text += "\n";
}

void CheckModel(ModelRepository& repository, const std::string& name,
                ConfigCheck& check) {
  const absl::StatusOr<ModelPlan> plan = repository.Plan(name);
  if (!plan.ok()) {
    return AddFailure(name, plan.status(), check);
  }
  for (const auto& [version, files] : plan->versions) {
    const auto model = repository.Load(*plan, version, DeviceUse::kShared);
    if (!model.ok()) {
      AddFailure(name, model.status(), check);
      continue;
    }
    const std::string& failure = (*model)->warm_up_failure;
    AddComment(
        absl::StrCat(
            name, " version ", version,
            failure.empty()
                ? ": can be served"
                : absl::StrCat(": can be loaded, but did not run: ", failure)),
        check);
    for (const std::string& warning : LoadWarnings(**model)) {
      AddComment(absl::StrCat(name, " ", warning), check);
    }
    if (const std::string note = LargeRequestNote(**model); !note.empty()) {
      AddComment(absl::StrCat(name, " ", note), check);
    }
    for (const std::string& note : (*model)->notes) {
      AddComment(absl::StrCat("has no effect here: ", note), check);
    }
    std::string config;
    google::protobuf::TextFormat::PrintToString((*model)->kept, &config);
    absl::StrAppend(&check.text, config, "\n");
  }
}

}  // namespace

ConfigCheck CheckConfig(ModelRepository& repository,
                        const ModelControlOptions& options) {
  ConfigCheck check;
  std::vector<std::string> names = options.load_models;
  if (names.empty() || options.wants_all()) {
    absl::StatusOr<std::vector<std::string>> defaults =
        options.wants_all() ? repository.Names() : repository.DefaultNames();
    if (!defaults.ok()) {
      check.is_good = false;
      AddComment(defaults.status().message(), check);
      return check;
    }
    names = *std::move(defaults);
  }
  for (const std::string& name : names) {
    CheckModel(repository, name, check);
  }
  return check;
}

}  // namespace ferry
