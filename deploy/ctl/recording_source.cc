// Implements RecordingSource: flags to a file, a server, or a Prometheus.
#include "deploy/ctl/recording_source.h"

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/live_recording.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

constexpr int64_t kHourS = 3600;
constexpr int64_t kDayS = 24 * kHourS;
constexpr int64_t kLongestWindowS = 366 * kDayS;
constexpr double kGiga = 1e9;

DeviceLink LinkOf(const RecordingFlags& flags) {
  return {.bytes_per_second = flags.link_gb_per_second * kGiga};
}

absl::StatusOr<NamedRecording> RecordLive(const RecordingFlags& flags) {
  const auto source = MakeHttpSource("--from", flags.address, flags.http);
  if (!source.ok()) {
    return source.status();
  }
  auto recording = RecordServer(*source, flags.duration_s, LinkOf(flags));
  if (!recording.ok()) {
    return recording.status();
  }
  return NamedRecording{.recording = *std::move(recording),
                        .source = absl::StrCat(source->url(), "/metrics")};
}

absl::StatusOr<NamedRecording> RecordPast(const RecordingFlags& flags) {
  const auto source =
      MakeHttpSource("--from-prometheus", flags.prometheus, flags.http);
  return source.ok()
             ? RecordFromPrometheus(*source, flags.window, LinkOf(flags))
             : source.status();
}

absl::StatusOr<NamedRecording> ReadFile(const RecordingFlags& flags) {
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

absl::StatusOr<NamedRecording> Find(const RecordingFlags& flags) {
  const int ways = (flags.path.empty() ? 0 : 1) +
                   (flags.duration_s == 0 ? 0 : 1) +
                   (flags.prometheus.empty() ? 0 : 1);
  if (ways != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one of --file, --duration and "
                     "--from-prometheus, got ",
                     ways));
  }
  if (!flags.path.empty()) {
    return ReadFile(flags);
  }
  return flags.prometheus.empty() ? RecordLive(flags) : RecordPast(flags);
}

// Makes a flag take "60s", "15m", "2h" or "7d", as seconds from 1 to `most`.
CLI::Option* AsTime(CLI::Option* option, int64_t most) {
  const auto to_seconds = [most](std::string& text) {
    static const std::map<char, int64_t> kUnits = {
        {'s', 1}, {'m', 60}, {'h', kHourS}, {'d', kDayS}};
    const auto unit = kUnits.find(text.empty() ? '\0' : text.back());
    int64_t count = 0;
    if (unit == kUnits.end() ||
        !absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) ||
        count < 1 || count > most / unit->second) {
      return absl::StrCat(
          "expected a whole number of s, m, h or d, as 60s, at most ", most,
          "s, got '", text, "'");
    }
    text = absl::StrCat(count * unit->second);
    return std::string();
  };
  return option->transform(CLI::Validator(to_seconds, ""))
      ->type_name("N{s,m,h,d}");
}

}  // namespace

void AddRecordingFlags(CLI::App& command, RecordingFlags& flags) {
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
                  "where its metrics are: host:port, or a URL of http or "
                  "https")
      ->capture_default_str()
      ->needs(duration);
  CLI::Option* const prometheus =
      command
          .add_option("--from-prometheus", flags.prometheus,
                      "a Prometheus that has scraped the server")
          ->type_name("URL");
  AsTime(command.add_option("--window", flags.window.window_s,
                            "how far back to look in that"),
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
  command
      .add_option("--pcie-gb-per-second", flags.link_gb_per_second,
                  "that can be copied to the device, as measured; without it "
                  "the link's share is not known")
      ->check(NumberFrom(0, 1e6));
}

absl::StatusOr<NamedRecording> Record(const RecordingFlags& flags) {
  auto named = Find(flags);
  if (!named.ok() || flags.save_path.empty()) {
    return named;
  }
  const absl::Status saved =
      ReplaceFile(flags.save_path, plan::RecordingJson(named->recording));
  if (!saved.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--save: ", saved.message()));
  }
  return named;
}

}  // namespace ferry::ctl
