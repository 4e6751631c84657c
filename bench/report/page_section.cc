// Implements the sections of the page: titles, notes and tables.
#include "bench/report/page_section.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report/heat_map.h"
#include "bench/report/html_table.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

struct PageSection {
  const char* id;     // of the element, and of the script's chart
  const char* shape;  // "wide": all columns of the grid; else one
  const char* title;
  std::string note;
  ReportTable table;
};

std::string SectionToHtml(const PageSection& section) {
  if (section.table.rows.empty()) {
    return "";
  }
  return absl::StrCat(
      "<section class=\"card ", section.shape, "\" id=\"", section.id,
      "\" aria-labelledby=\"", section.id, "-title\">\n<h3 id=\"", section.id,
      "-title\">", Escape(section.title), "</h3>\n<p class=\"note\">",
      Escape(section.note), "</p>\n<div class=\"figure\"></div>\n",
      FoldedTable("Numbers", section.table), "</section>\n");
}

std::string SectionsToHtml(const std::vector<PageSection>& sections) {
  std::string html;
  for (const PageSection& section : sections) {
    html += SectionToHtml(section);
  }
  return html;
}

constexpr char kUtilizationNote[] =
    "Open loops. Utilization: the offered rate / the saturation of that run. "
    "Shaded: under 40 % most of a device is paid for and idle, from 60 % on "
    "queues grow, beyond 80 % steeply, beyond 85 % bursts are not absorbed.";

// Bands would be wrong: a device may be busy nearly all the time, and far from
// used up.
constexpr char kBusyNote[] =
    "Open loops. The share of the time in which the device had work, by the "
    "server's own word: no saturation was measured, so how much of what it "
    "can do that is is not known.";

std::string WhatCellsAre(const PageData& data) {
  if (data.slo_ms.has_value()) {
    return absl::StrFormat(
        "Requests/s that each setting carries with p99 within %g ms",
        *data.slo_ms);
  }
  const bool is_searched =
      std::any_of(data.runs.begin(), data.runs.end(), [](const RunResult& run) {
        return run.runtime_options.has_value() && run.search.has_value();
      });
  return is_searched ? "Requests/s that each setting carries within the bound "
                       "of its search"
                     : "The most requests/s that each setting served, steadily "
                       "and with "
                       "99 % successes";
}

}  // namespace

std::string ComparisonsToHtml(const PageData& data) {
  const std::string slo =
      data.slo_ms.has_value()
          ? absl::StrFormat(" The dashed line is the bound, %g ms.",
                            *data.slo_ms)
          : "";
  const bool has_utilization = HasUtilization(data.runs);
  return SectionsToHtml(
      {{"utilization", "wide",
        has_utilization ? "Latency against utilization"
                        : "Latency against the busy ratio",
        absl::StrCat(has_utilization ? kUtilizationNote : kBusyNote, slo),
        MakeUtilizationTable(data.runs)},
       {"offered", "", "Latency against offered load",
        "Open loops, as requests were planned, whatever the server did. Below: "
        "the share that failed, by code." +
            slo,
        MakeOfferedTable(data.runs)},
       {"throughput", "", "Throughput against p99",
        absl::StrCat(
            "Up and to the left is better. The line joins the points that no "
            "other beats in both; hollow points do not count: void, cut short, "
            "unsteady, or with more than 1 % failed.",
            data.chosen.has_value()
                ? " The ringed one carries the most within the bound."
                : ""),
        MakeFrontierTable(data.runs, data.front, data.chosen)},
       {"rows", "", "Rows of a batch against rate",
        "How much the batcher gathers as the rate grows.",
        MakeRowsTable(data.runs)}});
}

std::string PointsToHtml(const PageData& data) {
  return SectionsToHtml(
      {{"breakdown", "", "Where the time goes",
        "Mean latency of a request, by the server's clock; the rest is client "
        "and network.",
        MakeBreakdownTable(data.runs)},
       {"percentiles", "", "Latency by percentile",
        "From the planned send, each step to the right a tenth of the "
        "requests.",
        MakePercentileTable(data.runs)},
       {"batches", "", "Batch sizes", "Share of the batches by their rows.",
        MakeBatchTable(data.runs)},
       {"closes", "", "Why batches left",
        "Share of the batches by what closed them.", MakeCloseTable(data.runs)},
       {"timeline", "wide", "Over time",
        "Slices of the window, by when requests were planned.",
        MakeTimelineTable(data.runs)}});
}

std::string SettingsToHtml(const PageData& data) {
  const std::vector<HeatGrid> grids = HeatGrids(data.runs, data.slo_ms);
  if (grids.empty()) {
    return "";
  }
  return absl::StrCat(
      "<section class=\"card wide\" id=\"settings\">\n"
      "<h3>max_batch_size and max_wait</h3>\n<p class=\"note\">",
      WhatCellsAre(data),
      "; ringed: the most. &lt;: this rate was not carried like that, and none "
      "that was is known; its shade is what was served at it. -: not "
      "tried.</p>\n<div class=\"heatmaps\">\n",
      HeatMapToHtml(grids), "</div>\n</section>\n");
}

std::string MoneyToHtml(const PageData& data) {
  if (!data.price.has_value()) {
    return "";
  }
  const PagePrice& price = *data.price;
  return SectionToHtml(
      {"money", "wide", "What a million requests cost",
       absl::StrFormat(
           "%s at %.4g %s an hour (as of %s; %s)%s%s. One device that serves "
           "this rate all the time: price of an hour / (3600 x rate) x 1e6; a "
           "fleet that also waits for its peak costs more (ferry-bench plan).",
           price.row, price.device_per_hour, price.currency, price.as_of,
           price.source, price.age_warning.empty() ? "" : "; ",
           price.age_warning),
       MakeMoneyTable(data.runs, price)});
}

}  // namespace ferry::bench
