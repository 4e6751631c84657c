// Each Add...Command() adds a subcommand of ferry-bench to the command line,
// which, when chosen, runs and returns the exit code.
#ifndef FERRY_BENCH_COMMANDS_COMMANDS_H_
#define FERRY_BENCH_COMMANDS_COMMANDS_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// What main() found on the command line: what to run, and how it was typed.
struct Invocation {
  std::string command_line;
  std::vector<std::string> arguments;  // its parts
  std::function<int()> chosen;
};

// `invocation` outlives the app's parsing and the chosen command.
void AddRunCommand(CLI::App& app, Invocation& invocation);
void AddLocalCommand(CLI::App& app, Invocation& invocation);
void AddSearchCommand(CLI::App& app, Invocation& invocation);
void AddTuneCommand(CLI::App& app, Invocation& invocation);
void AddReportCommand(CLI::App& app, Invocation& invocation);
void AddMergeCommand(CLI::App& app, Invocation& invocation);
void AddCompareCommand(CLI::App& app, Invocation& invocation);
void AddPlanCommand(CLI::App& app, Invocation& invocation);
void AddSimulateCommand(CLI::App& app, Invocation& invocation);
void AddSoakCommand(CLI::App& app, Invocation& invocation);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_COMMANDS_H_
