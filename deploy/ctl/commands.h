// Each Add...Command() adds a command of ferryctl to the command line, which,
// when chosen, finds its answer.
#ifndef FERRY_DEPLOY_CTL_COMMANDS_H_
#define FERRY_DEPLOY_CTL_COMMANDS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/ctl/answer.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::ctl {

// What the command line asks for.
struct Invocation {
  std::function<absl::StatusOr<Answer>()> ask;
};

// `invocation` outlives the app's parsing and the chosen command.
void AddAdviseCommand(CLI::App& app, Invocation& invocation);
void AddCapacityCommand(CLI::App& app, Invocation& invocation);
void AddCostCommand(CLI::App& app, Invocation& invocation);
void AddDiagnoseCommand(CLI::App& app, Invocation& invocation);
void AddMemoryCommand(CLI::App& app, Invocation& invocation);
void AddMigPlanCommand(CLI::App& app, Invocation& invocation);
void AddProfileCommand(CLI::App& app, Invocation& invocation);
void AddDoctorCommand(CLI::App& app, Invocation& invocation);
void AddUnitsCommand(CLI::App& app, Invocation& invocation);

// Those that ask running servers.
void AddDrainCommand(CLI::App& app, Invocation& invocation);
void AddHealthCommand(CLI::App& app, Invocation& invocation);
void AddSetCommand(CLI::App& app, Invocation& invocation);
void AddStatusCommand(CLI::App& app, Invocation& invocation);
void AddTopCommand(CLI::App& app, Invocation& invocation);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_COMMANDS_H_
