// Implements `ferryctl profile`: from a recording to a verdict.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "deploy/ctl/commands.h"
#include "deploy/ctl/profile_answer.h"
#include "deploy/ctl/recording_source.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

struct ProfileFlags {
  RecordingFlags recording;
  std::string signal;  // empty: the policy's own
  ProfileQuestion question;
};

absl::StatusOr<Answer> Ask(const ProfileFlags& flags) {
  ProfileQuestion question = flags.question;
  if (!flags.signal.empty()) {
    const auto signal = plan::ParseSignal(flags.signal);
    if (!signal.ok()) {
      return signal.status();
    }
    question.signal = *signal;
  }
  const auto named = Record(flags.recording);
  if (!named.ok()) {
    return named.status();
  }
  question.source = named->source;
  return ProfileAnswer(named->recording, question);
}

}  // namespace

void AddProfileCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ProfileFlags>();
  CLI::App& command = *app.add_subcommand(
      "profile", "say how much of a device was used, by a named policy");
  AddRecordingFlags(command, flags->recording);
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
