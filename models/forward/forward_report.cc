// Implements Summary, ToJson and PrintTable: medians, JSON and a table.
#include "models/forward/forward_report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

double Quantile(std::vector<double> values, double quantile) {
  const auto place =
      static_cast<size_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
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

}  // namespace

Measurement Summary(int32_t rows, const RunTimes& times) {
  Measurement one = {.rows = rows,
                     .runs = static_cast<int64_t>(times.total.size()),
                     .stage_ms = Quantile(times.stage, 0.5),
                     .compute_ms = Quantile(times.compute, 0.5),
                     .total_ms = Quantile(times.total, 0.5),
                     .p99_ms = Quantile(times.total, 0.99),
                     .times_ms = times.total};
  if (!times.idle.empty()) {
    const double computing = Sum(times.compute);
    one.idle_ms = Quantile(times.idle, 0.5);
    one.busy_ratio = computing / (computing + Sum(times.idle));
  }
  return one;
}

Json ToJson(const ModelOptions& options, const std::vector<Measurement>& all) {
  Json json = {
      {"tool", "ferry-forward"},           {"model", options.name},
      {"precision", PrecisionOf(options)}, {"threads", options.threads},
      {"processor", DescribeProcessor()},  {"batches", Json::array()},
  };
  for (const Measurement& one : all) {
    Json batch = {{"rows", one.rows},
                  {"runs", one.runs},
                  {"stage_ms", one.stage_ms},
                  {"compute_ms", one.compute_ms},
                  {"total_ms", one.total_ms},
                  {"p99_ms", one.p99_ms},
                  {"rows_per_second", one.rows * 1000 / one.total_ms}};
    if (one.idle_ms.has_value()) {
      batch["idle_ms"] = *one.idle_ms;
      batch["busy_ratio"] = *one.busy_ratio;
    }
    batch["times_ms"] = one.times_ms;
    json["batches"].push_back(std::move(batch));
  }
  return json;
}

void PrintTable(const ModelOptions& options,
                const std::vector<Measurement>& all) {
  std::printf("%s, %s, %d thread%s; medians\n", options.name.c_str(),
              PrecisionOf(options), options.threads,
              options.threads == 1 ? "" : "s");
  const bool has_idle = !all.empty() && all.front().idle_ms.has_value();
  std::printf("%6s %10s %10s %10s %10s %10s%s\n", "rows", "stage ms",
              "compute ms", "total ms", "p99 ms", "rows/s",
              has_idle ? "    idle ms  busy" : "");
  for (const Measurement& one : all) {
    std::printf("%6d %10.3f %10.3f %10.3f %10.3f %10.1f", one.rows,
                one.stage_ms, one.compute_ms, one.total_ms, one.p99_ms,
                one.rows * 1000 / one.total_ms);
    if (one.idle_ms.has_value()) {
      std::printf(" %10.3f %5.3f", *one.idle_ms, *one.busy_ratio);
    }
    std::printf("\n");
  }
}

}  // namespace ferry
