// ferry-forward: a model in a loop in this process, without a server: stage,
// compute, next. What it reaches is what anything that serves the model is
// measured against.
//
// It runs the same lanes that ferry-server runs, from the same config: rows are
// gathered from single requests, cast, computed and copied out.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "batcher/batch.h"
#include "batcher/clock.h"
#include "batcher/event_count.h"
#include "models/embedded_models.h"
#include "models/made_up_row.h"
#include "models/model_config.h"
#include "models/model_loader.h"
#include "models/repository_folder.h"
#include "models/row_requests.h"
#include "nlohmann/json.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kAnySizeHere = 128;
constexpr int kMinRuns = 5;

struct Flags {
  std::string model = kDefaultEmbeddedModel;
  std::string model_dir;
  std::vector<int32_t> batches = {1, 2, 4, 8, 16, 32, 64};
  int32_t threads = 0;    // 0: the config's
  std::string precision;  // empty: the config's
  double seconds = 1;     // per batch size
  double pause_us = 0;    // between batches
  std::string json_path;
};

struct LoadedModel {
  ModelConfig config;
  VersionFolder folder;
};

struct Measurement {
  int32_t rows = 0;
  int64_t runs = 0;
  double stage_ms = 0;  // medians
  double compute_ms = 0;
  double total_ms = 0;
  double p99_ms = 0;             // of the total
  std::vector<double> times_ms;  // total, of each run
};

absl::StatusOr<LoadedModel> ReadModel(const Flags& flags) {
  if (flags.model_dir.empty()) {
    const char* const text = FindEmbeddedConfig(flags.model);
    if (text == nullptr) {
      return absl::NotFoundError(absl::StrCat("--model: expected one of ",
                                              kEmbeddedModelNames, ", got '",
                                              flags.model, "'"));
    }
    absl::StatusOr<ModelConfig> config =
        ParseModelConfig(text, "embedded", flags.model);
    if (!config.ok()) {
      return config.status();
    }
    return LoadedModel{*std::move(config), {}};
  }
  std::string path = flags.model_dir;
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  absl::StatusOr<ModelConfig> config = ReadModelConfig(
      absl::StrCat(path, "/config.pbtxt"), path.substr(path.rfind('/') + 1));
  if (!config.ok()) {
    return config.status();
  }
  absl::StatusOr<std::vector<VersionFolder>> versions =
      ListVersions(path, config->options);
  if (!versions.ok()) {
    return versions.status();
  }
  return LoadedModel{*std::move(config), versions->back()};
}

// Milliseconds between two moments.
double Ms(TimePoint from, TimePoint to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

double Quantile(std::vector<double> values, double quantile) {
  const auto place =
      static_cast<size_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

// Runs batches of `rows` single requests for that long, with that pause between
// them.
absl::StatusOr<Measurement> Measure(HostModel& model, int32_t rows,
                                    const Flags& flags) {
  const Clock& clock = Clock::Steady();
  const Duration pause = Milliseconds(flags.pause_us / 1000);
  EventCount never_notified;
  UsePreciseTimers();
  const std::vector<RowInput> row = RandomRow(model.spec(), kAnySizeHere);
  const RowRequests requests(model.spec(), row, rows);
  const Batch& batch = requests.batch();
  std::vector<double> stage, compute, total;
  const TimePoint end = clock.Now() + Milliseconds(flags.seconds * 1000);
  for (int run = 0; run < kMinRuns || clock.Now() < end; ++run) {
    const TimePoint begin = clock.Now();
    Outcome outcome = model.Stage(batch);
    const TimePoint staged = clock.Now();
    OutputRef output;
    if (outcome.ok()) {
      outcome = model.Compute(batch, output);
    }
    const TimePoint computed = clock.Now();
    if (!outcome.ok()) {
      return absl::Status(outcome.code, outcome.text);
    }
    stage.push_back(Ms(begin, staged));
    compute.push_back(Ms(staged, computed));
    total.push_back(Ms(begin, computed));
    if (pause > Duration(0)) {
      never_notified.Wait(never_notified.PrepareWait(), clock.Now() + pause);
    }
  }
  return Measurement{rows,
                     static_cast<int64_t>(total.size()),
                     Quantile(stage, 0.5),
                     Quantile(compute, 0.5),
                     Quantile(total, 0.5),
                     Quantile(total, 0.99),
                     total};
}

// Returns the processor's name and which matrix instructions it has.
Json DescribeProcessor() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, name, flags;
  while (std::getline(info, line) && (name.empty() || flags.empty())) {
    const std::string value =
        line.substr(std::min(line.find(':'), line.size() - 1) + 1);
    if (line.rfind("model name", 0) == 0) {
      name = value.substr(std::min<size_t>(1, value.size()));
    } else if (line.rfind("flags", 0) == 0) {
      flags = value + " ";
    }
  }
  Json processor = {{"name", name}};
  for (const char* flag : {"avx512_bf16", "amx_bf16"}) {
    processor[flag] =
        flags.find(absl::StrCat(" ", flag, " ")) != std::string::npos;
  }
  return processor;
}

const char* PrecisionOf(const ModelOptions& options) {
  return options.backend == BackendKind::kAotInductor
             ? "as compiled"
             : PrecisionName(options.precision);
}

Json ToJson(const LoadedModel& model, const std::vector<Measurement>& all) {
  const ModelOptions& options = model.config.options;
  Json json = {
      {"tool", "ferry-forward"},           {"model", options.name},
      {"precision", PrecisionOf(options)}, {"threads", options.threads},
      {"processor", DescribeProcessor()},  {"batches", Json::array()},
  };
  for (const Measurement& one : all) {
    json["batches"].push_back(
        {{"rows", one.rows},
         {"runs", one.runs},
         {"stage_ms", one.stage_ms},
         {"compute_ms", one.compute_ms},
         {"total_ms", one.total_ms},
         {"p99_ms", one.p99_ms},
         {"rows_per_second", one.rows * 1000 / one.total_ms},
         {"times_ms", one.times_ms}});
  }
  return json;
}

void PrintTable(const LoadedModel& model, const std::vector<Measurement>& all) {
  const ModelOptions& options = model.config.options;
  std::printf("%s, %s, %d thread%s; medians\n", options.name.c_str(),
              PrecisionOf(options), options.threads,
              options.threads == 1 ? "" : "s");
  std::printf("%6s %10s %10s %10s %10s %12s\n", "rows", "stage ms",
              "compute ms", "total ms", "p99 ms", "rows/s");
  for (const Measurement& one : all) {
    std::printf("%6d %10.3f %10.3f %10.3f %10.3f %12.1f\n", one.rows,
                one.stage_ms, one.compute_ms, one.total_ms, one.p99_ms,
                one.rows * 1000 / one.total_ms);
  }
}

// Applies what the flags say against the config.
absl::Status ApplyFlags(const Flags& flags, ModelOptions& options) {
  const int32_t largest =
      *std::max_element(flags.batches.begin(), flags.batches.end());
  const bool is_embedded = flags.model_dir.empty();
  if (is_embedded) {
    options.spec.max_batch_size =
        std::max(options.spec.max_batch_size, largest);
  }
  if (largest > std::max(options.spec.max_batch_size, 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--batch: expected at most max_batch_size, ",
                     options.spec.max_batch_size, ", got ", largest));
  }
  options.instance_count = 1;
  if (flags.threads > 0) {
    options.threads = flags.threads;
  }
  if (!flags.precision.empty() &&
      options.backend == BackendKind::kAotInductor) {
    return absl::InvalidArgumentError(
        "--precision: a .pt2 file has the types it was compiled with");
  }
  if (flags.precision == PrecisionName(Precision::kNative) &&
      options.backend != BackendKind::kTorchScript) {
    return absl::InvalidArgumentError(
        "--precision: expected bf16 or fp32, native is of TorchScript");
  }
  options.precision =
      ParsePrecision(flags.precision).value_or(options.precision);
  return absl::OkStatus();
}

absl::Status RunForward(const Flags& flags) {
  absl::StatusOr<LoadedModel> model = ReadModel(flags);
  if (!model.ok()) {
    return model.status();
  }
  if (absl::Status status = ApplyFlags(flags, model->config.options);
      !status.ok()) {
    return status;
  }
  HostModelsOrStatus lanes =
      MakeLanes(model->config.options, model->folder.path);
  if (!lanes.ok()) {
    return lanes.status();
  }
  HostModel& lane = *lanes->front();
  if (absl::Status status = lane.WarmUp(); !status.ok()) {
    return status;
  }
  std::vector<Measurement> all;
  for (int32_t rows : flags.batches) {
    absl::StatusOr<Measurement> one = Measure(lane, rows, flags);
    if (!one.ok()) {
      return one.status();
    }
    all.push_back(*one);
  }
  PrintTable(*model, all);
  if (!flags.json_path.empty()) {
    std::ofstream file(flags.json_path);
    file << ToJson(*model, all).dump(2) << "\n";
    if (!file.flush()) {
      return absl::UnavailableError(
          absl::StrCat("cannot write '", flags.json_path, "'"));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) {
  ferry::PrepareTorchEnvironment();
  ferry::Flags flags;
  CLI::App app("Runs a model in a loop in this process, without a server.");
  app.add_option("--model", flags.model,
                 "embedded model: mlp, resnet50, encoder")
      ->capture_default_str();
  app.add_option("--model-dir", flags.model_dir,
                 "folder of one model, with config.pbtxt");
  app.add_option("--batch", flags.batches, "rows of a batch, one or more")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--threads", flags.threads,
                 "threads inside an operator; 0: the config's")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--precision", flags.precision, "instead of the config's")
      ->check(CLI::IsMember({"bf16", "fp32", "native"}));
  app.add_option("--seconds", flags.seconds, "time for each batch size")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--pause-us", flags.pause_us,
                 "sleep between batches, as a lane does whose only client "
                 "waits for its reply")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--json", flags.json_path, "file to write results to");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ferry::RunForward(flags);
  if (!status.ok()) {
    std::fprintf(stderr, "ferry-forward: %s\n",
                 std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
