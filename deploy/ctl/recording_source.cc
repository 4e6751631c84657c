// Implements RecordingSource: flags to a file, a server, or a Prometheus.
#include "deploy/ctl/recording_source.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/replaced_file.h"
#include "bench/report/report_json.h"
#include "bench/report/writable_file.h"
#include "deploy/ctl/live_recording.h"
#include "deploy/ctl/source_flags.h"
#include "deploy/ctl/time_text.h"
#include "flags/value_checks.h"

namespace ferry::ctl {
namespace {

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
  AddFromFlag(command, flags.address)->capture_default_str()->needs(duration);
  CLI::Option* const prometheus =
      AddPrometheusFlags(command, flags.prometheus, flags.window);
  AsTime(command.add_option("--step", flags.window.step_s,
                            "between samples, no less than between scrapes; "
                            "default: 1m, more for long windows"),
         kHourS)
      ->needs(prometheus);
  AddHttpFlags(command, flags.http);
  bench::AddResultFile(command, "--save", flags.save_path,
                       "writes the recording, for --file later on");
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
