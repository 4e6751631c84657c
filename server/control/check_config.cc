// Implements CheckConfig: loads model by model, and goes on after a failure.
#include "server/control/check_config.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace ferry {
namespace {

void AddFailure(const std::string& name, const absl::Status& status,
                ConfigCheck& check) {
  check.is_good = false;
  absl::StrAppend(&check.text, "# ", name,
                  ": cannot be served: ", std::string(status.message()),
                  "\n\n");
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
    std::string config;
    google::protobuf::TextFormat::PrintToString((*model)->config, &config);
    const std::string& failure = (*model)->warm_up_failure;
    absl::StrAppend(
        &check.text, "# ", name, " version ", version,
        failure.empty()
            ? ": can be served\n"
            : absl::StrCat(": can be loaded, but did not run: ",
                           absl::StrReplaceAll(failure, {{"\n", " "}}), ". ",
                           kWarmUpAdvice, "\n"),
        (*model)->why_not_bf16.empty()
            ? ""
            : absl::StrCat(
                  "# in ferry.precision ",
                  (*model)
                      ->config.parameters()
                      .at("ferry.precision")
                      .string_value(),
                  ", as it does not run in bf16: ",
                  absl::StrReplaceAll((*model)->why_not_bf16, {{"\n", " "}}),
                  "\n"),
        config, "\n");
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
      check.text =
          absl::StrCat("# ", std::string(defaults.status().message()), "\n");
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
