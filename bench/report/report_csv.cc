// Implements ToCsv() and ToMarkdown(): cells between commas or bars.
#include "bench/report/report_csv.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bench/report/point_rules.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

using Cells = std::vector<std::string>;

// In quotes where it must be.
std::string Quoted(const std::string& cell) {
  return cell.find_first_of(",\"\r\n") == std::string::npos
             ? cell
             : absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}),
                            "\"");
}

std::string Line(const Cells& cells) {
  return absl::StrCat(
      absl::StrJoin(cells, ",",
                    [](std::string* out, const std::string& cell) {
                      absl::StrAppend(out, Quoted(cell));
                    }),
      "\n");
}

std::string Number(double value) { return absl::StrFormat("%.10g", value); }

std::string OrNone(const std::optional<double>& value) {
  return value.has_value() ? Number(*value) : "";
}

Cells LatencyNames(const std::string& of) {
  Cells names;
  for (const char* name :
       {"mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max"}) {
    names.push_back(absl::StrCat(of, name, "_us"));
  }
  return names;
}

void Append(const LatencySummary& latency, Cells& cells) {
  for (const double us :
       {latency.mean_us, latency.p50_us, latency.p90_us, latency.p95_us,
        latency.p99_us, latency.p999_us, latency.p9999_us, latency.max_us}) {
    cells.push_back(Number(us));
  }
}

void Append(const ServerTimes& times, Cells& cells) {
  for (const double us : {times.queue_us, times.compute_input_us,
                          times.compute_infer_us, times.compute_output_us}) {
    cells.push_back(Number(us));
  }
}

void AppendAll(const Cells& from, Cells& to) {
  to.insert(to.end(), from.begin(), from.end());
}

Cells PerfAnalyzerNames(const char* first) {
  return {first,
          "Inferences/Second",
          "Client Send",
          "Network+Server Send/Recv",
          "Server Queue",
          "Server Compute Input",
          "Server Compute Infer",
          "Server Compute Output",
          "Client Recv",
          "p50 latency",
          "p90 latency",
          "p95 latency",
          "p99 latency"};
}

Cells PerfAnalyzerCells(const RunResult& run, const PointResult& point) {
  Cells cells = {
      point.loop == "closed" ? absl::StrCat(point.outstanding)
                             : Number(point.target_rate),
      absl::StrFormat("%.3f", point.achieved_rate * run.rows_per_request)};
  cells.resize(3, "0");
  const ServerTimes times = point.server_times.value_or(ServerTimes());
  const double told = times.queue_us + times.compute_input_us +
                      times.compute_infer_us + times.compute_output_us;
  cells.push_back(absl::StrFormat(
      "%.0f", std::max(point.latency_from_send.mean_us - told, 0.0)));
  for (const double us : {times.queue_us, times.compute_input_us,
                          times.compute_infer_us, times.compute_output_us}) {
    cells.push_back(absl::StrFormat("%.0f", us));
  }
  cells.resize(9, "0");
  for (const double us : {point.latency.p50_us, point.latency.p90_us,
                          point.latency.p95_us, point.latency.p99_us}) {
    cells.push_back(absl::StrFormat("%.0f", us));
  }
  return cells;
}

}  // namespace

std::string ToCsv(const std::vector<RunResult>& runs) {
  Cells names = {
      "run",          "model",  "loop",           "outstanding", "target_rate",
      "offered_rate", "load",   "achieved_rate",  "window_s",    "planned",
      "ok",           "errors", "rows_per_batch", "busy_ratio",  "void",
      "unsteady"};
  AppendAll(LatencyNames(""), names);
  AppendAll(LatencyNames("from_send_"), names);
  AppendAll(LatencyNames("send_lag_"), names);
  AppendAll(
      {"queue_us", "compute_input_us", "compute_infer_us", "compute_output_us"},
      names);
  const size_t server_end = names.size();
  // A reader by position finds what there was before.
  AppendAll({"rows_rate", "begun", "arrivals", "seed", "device_utilization",
             "device_memory_used_bytes", "device_power_w", "device_energy_j",
             "slo_ms", "goodput_rate", "saturation_doubt"},
            names);
  std::string text = Line(names);
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      Cells cells = {run.label,
                     run.model,
                     point.loop,
                     absl::StrCat(point.outstanding),
                     Number(point.target_rate),
                     Number(point.offered_rate),
                     OrNone(point.load),
                     Number(point.achieved_rate),
                     Number(point.window_s),
                     absl::StrCat(point.planned),
                     absl::StrCat(point.ok),
                     DescribeErrors(point.errors),
                     OrNone(point.mean_rows),
                     OrNone(point.busy_ratio),
                     point.void_reason,
                     point.unsteady};
      Append(point.latency, cells);
      Append(point.latency_from_send, cells);
      Append(point.send_lag, cells);
      if (point.server_times.has_value()) {
        Append(*point.server_times, cells);
      }
      cells.resize(server_end);  // a server that does not tell
      const DeviceSummary device = point.device.value_or(DeviceSummary());
      AppendAll({OrNone(point.rows_rate), point.begun, point.arrivals,
                 absl::StrCat(point.seed), OrNone(device.utilization),
                 OrNone(device.memory_used_bytes), OrNone(device.power_w),
                 OrNone(device.energy_j), OrNone(run.slo_ms),
                 OrNone(point.goodput_rate), DoubtOfSaturation(run)},
                cells);
      text += Line(cells);
    }
  }
  return text;
}

std::string ToPerfAnalyzerCsv(const std::vector<RunResult>& runs) {
  std::string text;
  for (const auto& [loop, first] :
       {std::pair<const char*, const char*>{"closed", "Concurrency"},
        {"open", "Request Rate"}}) {
    std::string lines;
    for (const RunResult& run : runs) {
      for (const PointResult& point : run.points) {
        if (point.loop == loop && IsForOtherTools(point)) {
          lines += Line(PerfAnalyzerCells(run, point));
        }
      }
    }
    if (!lines.empty()) {
      absl::StrAppend(&text, Line(PerfAnalyzerNames(first)), lines);
    }
  }
  return text;
}

std::string ToMarkdown(const ReportTable& table) {
  const auto line = [](const Cells& cells) {
    return absl::StrCat(
        "| ",
        absl::StrJoin(
            cells, " | ",
            [](std::string* out, const std::string& cell) {
              absl::StrAppend(out, absl::StrReplaceAll(cell, {{"|", "\\|"}}));
            }),
        " |\n");
  };
  std::string text;
  if (!table.headings.empty()) {
    text += line(table.headings);
    text += line(Cells(table.headings.size(), "---"));
  }
  for (const Cells& row : table.rows) {
    text += line(row);
  }
  if (!table.notes.empty() && !text.empty()) {
    absl::StrAppend(&text, "\n");
  }
  for (const std::string& note : table.notes) {
    absl::StrAppend(&text, "- ", note, "\n");
  }
  return text;
}

}  // namespace ferry::bench
