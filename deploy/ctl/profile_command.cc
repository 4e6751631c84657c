// Implements `ferryctl profile`: from a recording to a verdict.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/profile_answer.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct ProfileFlags {
  std::string path;
  std::string signal;  // empty: the policy's own
  ProfileQuestion question;
};

absl::StatusOr<Answer> Ask(const ProfileFlags& flags) {
  const auto text = bench::ReadFile(flags.path);
  if (!text.ok()) {
    return text.status();
  }
  const auto recording = plan::ParseRecording(*text, flags.path);
  if (!recording.ok()) {
    return recording.status();
  }
  ProfileQuestion question = flags.question;
  question.source = flags.path;
  if (!flags.signal.empty()) {
    const auto signal = plan::ParseSignal(flags.signal);
    if (!signal.ok()) {
      return signal.status();
    }
    question.signal = *signal;
  }
  return ProfileAnswer(*recording, question);
}

}  // namespace

void AddProfileCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ProfileFlags>();
  CLI::App& command = *app.add_subcommand(
      "profile", "say how much of a device was used, by a named policy");
  command
      .add_option("--file", flags->path,
                  "recording; docs/planning.md has the format")
      ->type_name("FILE")
      ->required();
  std::vector<std::string> names;
  for (const plan::Policy& policy : plan::Policies()) {
    names.emplace_back(policy.name);
  }
  std::vector<std::string> signals;
  for (const plan::Signal signal : plan::kJudgedSignals) {
    signals.emplace_back(plan::SignalName(signal));
  }
  command
      .add_option("--policy", flags->question.policy, "whose bands judge it")
      ->capture_default_str()
      ->check(OneOf(names));
  command
      .add_option("--signal", flags->signal,
                  "what is judged; default: the policy's own, else load")
      ->check(OneOf(signals));
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
