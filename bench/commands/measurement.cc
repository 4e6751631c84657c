// Implements Measurement: for each turn, a server, a setting and its loads.
#include "bench/commands/measurement.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/printable_text.h"
#include "bench/commands/command_report.h"
#include "bench/commands/interruption.h"
#include "bench/commands/progress_line.h"
#include "bench/commands/shared_load.h"
#include "bench/commands/signal_watcher.h"
#include "bench/report/goodput.h"
#include "bench/search/runtime_options_client.h"
#include "bench/search/sweep.h"

namespace ferry::bench {

absl::Status Measurement::Connect() {
  for (const RunOptions& options : options_) {
    auto server = MeasuredServer::Connect(options);
    if (!server.ok()) {
      return server.status();
    }
    servers_.push_back(*std::move(server));
  }
  return absl::OkStatus();
}

absl::Status Measurement::Run(int32_t repeat,
                              const std::vector<RuntimeSetting>& settings) {
  const std::vector<Turn> turns =
      TurnsOf(repeat, servers_.size(), std::max<size_t>(settings.size(), 1));
  loads_ = 0;
  for (const Turn& turn : turns) {
    loads_ += CountLoads(LoadsOf(turn.server));
  }
  for (const Turn& turn : turns) {
    if (is_stopped_) {
      break;
    }
    const RuntimeSetting* const setting =
        settings.empty() ? nullptr : &settings[turn.setting];
    if (setting != nullptr) {
      const RuntimeOptionsClient runtime_options(options_[0].address,
                                                 options_[0].model,
                                                 options_[0].target.connection);
      if (absl::Status status = runtime_options.Set(*setting); !status.ok()) {
        return status;
      }
    }
    if (absl::Status status = Take(turn, setting); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

std::vector<RunResult> Measurement::RunsOf(size_t server) const {
  std::vector<RunResult> runs;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (of_server_[i] == server) {
      runs.push_back(runs_[i]);
    }
  }
  return runs;
}

std::string Measurement::interruption() const {
  return is_stopped_ ? DescribeInterruption(loads_, runs_) : "";
}

SweepOptions Measurement::LoadsOf(size_t server) const {
  SweepOptions loads = options_[server].sweep;
  loads.offline = servers_[server]->offline();
  return loads;
}

absl::Status Measurement::Take(const Turn& turn,
                               const RuntimeSetting* setting) {
  MeasuredServer& server = *servers_[turn.server];
  const RunOptions& options = options_[turn.server];
  RunResult run = server.Describe(invocation_.command_line);
  if (setting != nullptr) {
    run.runtime_options = *setting;
    run.max_batch_size = setting->max_batch_size;
    run.label = Describe(*setting);
  }
  const SweepOptions own = LoadsOf(turn.server);
  auto loads = MakeLoads(options, options.sends() ? &server.target() : nullptr,
                         invocation_);
  if (!loads.ok()) {
    return loads.status();
  }
  Sweep sweep(runs_.empty() ? own : LoadsOfTurn(own, runs_.front(), turn),
              *std::move(loads), &server.probe(), server.instances());
  std::fprintf(stderr, "%s: model %s at %s\n", PrintableText(run.label).c_str(),
               options.model.c_str(), options.address.c_str());
  absl::Status status;
  {
    SignalWatcher watcher([this, &sweep] {
      is_stopped_ = true;
      sweep.Stop();
    });
    ProgressLine line([&sweep] { return sweep.progress(); });
    status =
        sweep.Run(run, [](const PointResult& point) { PrintPoint(point); });
  }
  if (options.slo_ms > 0) {
    SetGoodput(options.slo_ms, run);
  }
  if (!run.points.empty()) {
    runs_.push_back(std::move(run));
    of_server_.push_back(turn.server);
  }
  return status;
}

}  // namespace ferry::bench
