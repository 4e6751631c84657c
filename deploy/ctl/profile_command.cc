// Implements `ferryctl profile`: from a recording, a server or a Prometheus to
// a verdict.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/live_recording.h"
#include "deploy/ctl/profile_answer.h"
#include "deploy/ctl/prometheus_recording.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr int64_t kHourS = 3600;
constexpr int64_t kDayS = 24 * kHourS;
constexpr int64_t kLongestWindowS = 366 * kDayS;

struct ProfileFlags {
  std::string path;
  int64_t duration_s = 0;
  std::string address = "127.0.0.1:8002";
  std::string prometheus;
  PrometheusWindow window;
  HttpFiles http;
  std::string save_path;  // empty: the recording is not kept
  std::string signal;     // empty: the policy's own
  ProfileQuestion question;
};

absl::StatusOr<NamedRecording> RecordLive(const ProfileFlags& flags) {
  const auto source = MakeHttpSource("--from", flags.address, flags.http);
  if (!source.ok()) {
    return source.status();
  }
  auto recording = RecordServer(*source, flags.duration_s);
  if (!recording.ok()) {
    return recording.status();
  }
  return NamedRecording{.recording = *std::move(recording),
                        .source = absl::StrCat(source->url(), "/metrics")};
}

absl::StatusOr<NamedRecording> RecordPast(const ProfileFlags& flags) {
  const auto source =
      MakeHttpSource("--from-prometheus", flags.prometheus, flags.http);
  return source.ok() ? RecordFromPrometheus(*source, flags.window)
                     : source.status();
}

absl::StatusOr<NamedRecording> ReadFile(const ProfileFlags& flags) {
  const auto text = bench::ReadFile(flags.path);
  if (!text.ok()) {
    return text.status();
  }
  auto recording = plan::ParseRecording(*text, flags.path);
  if (!recording.ok()) {
    return recording.status();
  }
  return NamedRecording{.recording = *std::move(recording),
                        .source = flags.path};
}

absl::StatusOr<NamedRecording> Record(const ProfileFlags& flags) {
  const int ways = (flags.path.empty() ? 0 : 1) +
                   (flags.duration_s == 0 ? 0 : 1) +
                   (flags.prometheus.empty() ? 0 : 1);
  if (ways != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: expected one of --file, --duration and "
                     "--from-prometheus, got ",
                     ways));
  }
  if (!flags.path.empty()) {
    return ReadFile(flags);
  }
  return flags.prometheus.empty() ? RecordLive(flags) : RecordPast(flags);
}

absl::StatusOr<Answer> Ask(const ProfileFlags& flags) {
  ProfileQuestion question = flags.question;
  if (!flags.signal.empty()) {
    const auto signal = plan::ParseSignal(flags.signal);
    if (!signal.ok()) {
      return signal.status();
    }
    question.signal = *signal;
  }
  const auto named = Record(flags);
  if (!named.ok()) {
    return named.status();
  }
  if (!flags.save_path.empty()) {
    const absl::Status saved =
        ReplaceFile(flags.save_path, plan::RecordingJson(named->recording));
    if (!saved.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--save: ", saved.message()));
    }
  }
  question.source = named->source;
  return ProfileAnswer(named->recording, question);
}

// Makes a flag take "60s", "15m", "2h" or "7d", as seconds from 1 to `most`.
CLI::Option* AsTime(CLI::Option* option, int64_t most) {
  const std::map<std::string, int64_t> units = {
      {"s", 1}, {"m", 60}, {"h", kHourS}, {"d", kDayS}};
  return option
      ->transform(
          CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED))
      ->check(IntegerFrom(1, most))
      ->type_name("N{s,m,h,d}");
}

void AddSources(CLI::App& command, ProfileFlags& flags) {
  command
      .add_option("--file", flags.path,
                  "recording; docs/planning.md has the format")
      ->type_name("FILE");
  CLI::Option* const duration = AsTime(
      command.add_option("--duration", flags.duration_s,
                         "reads a running server once a second for so long"),
      kDayS);
  command
      .add_option("--from", flags.address,
                  "of its metrics: host:port, or a URL of http or https")
      ->capture_default_str()
      ->needs(duration);
  CLI::Option* const prometheus =
      command
          .add_option("--from-prometheus", flags.prometheus,
                      "a Prometheus that has scraped the server")
          ->type_name("URL");
  AsTime(command.add_option("--window", flags.window.window_s,
                            "how far back to look in it"),
         kLongestWindowS)
      ->default_str("7d")
      ->needs(prometheus);
  AsTime(command.add_option("--step", flags.window.step_s,
                            "between samples, no less than between scrapes; "
                            "default: 1m, more for long windows"),
         kHourS)
      ->needs(prometheus);
  command
      .add_option("--label", flags.window.labels,
                  "of the server, where there are several: instance=HOST:PORT")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->needs(prometheus);
  AddHttpFlags(command, flags.http);
  command
      .add_option("--save", flags.save_path,
                  "writes the recording, for --file later on")
      ->type_name("FILE");
}

}  // namespace

void AddProfileCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ProfileFlags>();
  CLI::App& command = *app.add_subcommand(
      "profile", "say how much of a device was used, by a named policy");
  AddSources(command, *flags);
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
