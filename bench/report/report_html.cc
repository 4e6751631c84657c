// Fills bench/report/report_page.html: tables here, charts by report_page.js
// from the JSON that the page carries.
#include "bench/report/report_html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bench/report/report_assets.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

std::string TableRow(const std::vector<std::string>& cells, const char* tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    absl::StrAppend(&html, "<", tag, ">", Escape(cell), "</", tag, ">");
  }
  return html + "</tr>\n";
}

std::string TableToHtml(const ReportTable& table) {
  std::string html = absl::StrCat(
      "<table>\n<thead>", TableRow(table.headings, "th"), "</thead>\n<tbody>");
  for (const auto& row : table.rows) {
    html += TableRow(row, "td");
  }
  return html + "</tbody></table>\n";
}

std::string NotesToHtml(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes) {
    absl::StrAppend(&html, "<p>", Escape(note), ".</p>\n");
  }
  return html;
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

void AppendEnvironment(const RunResult& run, std::vector<std::string>& cells) {
  const Environment& of = run.environment;
  cells.push_back(
      of.memory_bytes == 0
          ? "-"
          : absl::StrFormat("%.1f",
                            static_cast<double>(of.memory_bytes) / (1 << 30)));
  cells.push_back(OrDash(of.governor));
  cells.push_back(OrDash(
      absl::StrJoin(of.load_average, " ", [](std::string* out, double load) {
        absl::StrAppendFormat(out, "%.2f", load);
      })));
  cells.push_back(absl::StrCat(
      "ferry-bench ", run.client_version,
      of.grpc_version.empty()
          ? ""
          : absl::StrCat(", gRPC ", of.grpc_version, ", ", of.compiler)));
  cells.push_back(OrDash(of.instances));
  cells.push_back(OrDash(absl::StrJoin(of.server_extensions, " ")));
}

// Where and how each run was made.
std::string RunsToHtml(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {
      "run",          "date",       "model",        "platform",
      "max batch",    "server",     "rows/request", "bytes/request",
      "saturation/s", "processor",  "flags",        "cores",
      "kernel",       "memory GiB", "governor",     "load average",
      "versions",     "instances",  "extensions",   "command"};
  for (const RunResult& run : runs) {
    table.rows.push_back(
        {run.label, run.date, run.model,
         absl::StrCat(run.platform, run.is_simulated ? " (simulated)" : ""),
         absl::StrCat(run.max_batch_size),
         absl::StrCat(run.server_name, " ", run.server_version, " at ",
                      run.address),
         absl::StrCat(run.rows_per_request), absl::StrCat(run.request_bytes),
         run.saturation_rate > 0 ? absl::StrFormat("%.0f", run.saturation_rate)
                                 : "-",
         run.cpu, run.cpu_flags, absl::StrCat(run.cores), run.kernel});
    AppendEnvironment(run, table.rows.back());
    table.rows.back().push_back(run.command);
  }
  return TableToHtml(table);
}

std::string ClassesToHtml(const std::vector<RunResult>& runs) {
  const ReportTable table = MakeClassTable(runs);
  return table.rows.empty() ? ""
                            : absl::StrCat("<h2>Classes of requests</h2>\n",
                                           "<div class=\"scroll\">\n",
                                           TableToHtml(table), "</div>");
}

// Of the histograms the page draws the latency's; the others would double it.
void KeepWhatIsDrawn(PointResult& point) {
  point.histograms.latency_from_send = {};
  point.histograms.failed_latency = {};
  point.histograms.send_lag = {};
  for (ClassSummary& one : point.classes) {
    one.histogram = {};
  }
}

}  // namespace

std::string ToHtml(const std::vector<RunResult>& runs) {
  ReportTable table = MakeTable(runs);
  const bool is_simulated =
      std::any_of(runs.begin(), runs.end(),
                  [](const RunResult& run) { return run.is_simulated; });
  std::vector<RunResult> drawn = runs;
  for (RunResult& run : drawn) {
    for (PointResult& point : run.points) {
      KeepWhatIsDrawn(point);
    }
  }
  // "</" would end the script element that carries the JSON.
  const std::string json =
      absl::StrReplaceAll(ToJson(drawn), {{"</", "<\\/"}, {"<!--", "<\\!--"}});
  return absl::StrReplaceAll(
      kReportPage,
      {{"{{watermark}}",
        is_simulated ? "<div class=\"watermark\">simulated device</div>" : ""},
       {"{{notes}}", NotesToHtml(table.notes)},
       {"{{points}}", TableToHtml(table)},
       {"{{details}}", TableToHtml(MakeDetailTable(runs))},
       {"{{classes}}", ClassesToHtml(runs)},
       {"{{runs}}", RunsToHtml(runs)},
       {"{{relative_error}}",
        absl::StrFormat("%.1f", kLatencyRelativeError * 100)},
       {"{{json}}", json},
       {"{{script}}", kReportScript},
       {"{{chart_library}}", kChartLibrary}});
}

}  // namespace ferry::bench
