// ferryctl says how running servers are, how much of a device is used, how many
// a load takes, and what they cost.
//
// Exit codes: 0 fine; 1 what was asked makes no sense, or a file is not as
// expected; 2 it cannot know, as something is missing; 3 a finding is as grave
// as --fail-on says.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/report/machine.h"
#include "deploy/ctl/answer.h"
#include "deploy/ctl/commands.h"
#include "flags/parse_flags.h"
#include "flags/terminal.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr int kFine = 0;
constexpr int kWrong = 1;
constexpr int kUnknown = 2;
constexpr int kFound = 3;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ferryctl: %s\n", std::string(status.message()).c_str());
  const bool is_wrong =
      absl::IsInvalidArgument(status) || absl::IsOutOfRange(status) ||
      absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
  return is_wrong ? kWrong : kUnknown;
}

int Print(const Answer& answer, bool in_json, Severity fail_on) {
  const std::string text = in_json ? AnswerJson(answer, bench::DateNow())
                           : answer.artifact.empty()
                               ? AnswerText(answer, TerminalColumns())
                               : answer.artifact;
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    std::fputs("ferryctl: cannot write to standard output\n", stderr);
    return kWrong;
  }
  const std::optional<Severity> gravest = answer.gravest();
  return gravest.has_value() && *gravest >= fail_on ? kFound : kFine;
}

}  // namespace
}  // namespace ferry::ctl

int main(int argc, char** argv) {
  using ferry::ctl::Severity;
  CLI::App app{
      "ferryctl says how running servers are, how much of a device is used, "
      "how "
      "many a load takes, and what they cost"};
  app.set_version_flag("--version", absl::StrCat("ferryctl ", FERRY_VERSION));
  app.require_subcommand(1);
  app.fallthrough();
  bool in_json = false;
  std::string fail_on = SeverityName(Severity::kCritical);
  app.add_flag("--json", in_json,
               "print JSON, as docs/ctl-answer.schema.json has it");
  app.add_option("--fail-on", fail_on,
                 "exit with 3 where a finding is as grave as this")
      ->capture_default_str()
      ->check(ferry::OneOf({SeverityName(Severity::kNote),
                            SeverityName(Severity::kWarning),
                            SeverityName(Severity::kCritical)}));
  ferry::ctl::Invocation invocation;
  AddAdviseCommand(app, invocation);
  AddCapacityCommand(app, invocation);
  AddCostCommand(app, invocation);
  AddDiagnoseCommand(app, invocation);
  AddMemoryCommand(app, invocation);
  AddMigPlanCommand(app, invocation);
  AddProfileCommand(app, invocation);
  AddDoctorCommand(app, invocation);
  AddUnitsCommand(app, invocation);
  AddStatusCommand(app, invocation);
  AddTopCommand(app, invocation);
  AddHealthCommand(app, invocation);
  AddSetCommand(app, invocation);
  AddDrainCommand(app, invocation);
  try {
    ferry::ParseFlags(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return ferry::EndOfParsing("ferryctl", app, error);
  }
  const auto severity = ferry::ctl::ParseSeverity(fail_on);
  const auto answer = severity.ok() ? invocation.ask() : severity.status();
  return answer.ok() ? ferry::ctl::Print(*answer, in_json, *severity)
                     : ferry::ctl::Fail(answer.status());
}
