// Implements ToHtml(): fills page/page.html, words and tables here, charts by
// the scripts in page/ from the JSON that the page carries.
#include "bench/report/report_html.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/load/batch_means.h"
#include "bench/load/histogram_record.h"
#include "bench/report/device_table.h"
#include "bench/report/goodput.h"
#include "bench/report/html_table.h"
#include "bench/report/not_measured.h"
#include "bench/report/page_section.h"
#include "bench/report/point_rules.h"
#include "bench/report/rate_comparison.h"
#include "bench/report/report_assets.h"
#include "bench/report/report_json.h"
#include "bench/report/run_facts.h"
#include "bench/report/utilization.h"
#include "bench/report/verdict.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kFewNotes = 4;

std::string Paragraphs(const std::vector<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) {
    absl::StrAppend(&html, "<p>", Escape(text), "</p>\n");
  }
  return html;
}

std::string List(const std::vector<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) {
    absl::StrAppend(&html, "<li>", Escape(text), "</li>\n");
  }
  return html.empty() ? "" : absl::StrCat("<ul>\n", html, "</ul>\n");
}

// What speaks against trusting a number, folded where there is much. The
// verdict compares runs, and the method says what a ? is.
std::string NotesToHtml(const std::vector<RunResult>& runs,
                        std::vector<std::string> notes) {
  const std::vector<std::string> compared = Compare(runs);
  std::erase_if(notes, [&](const std::string& note) {
    return absl::StartsWith(note, "?") ||
           std::find(compared.begin(), compared.end(), note) != compared.end();
  });
  if (notes.size() <= kFewNotes) {
    return List(notes);
  }
  return absl::StrCat("<details><summary>Notes <span class=\"count\">",
                      notes.size(), "</span></summary>\n", List(notes),
                      "</details>\n");
}

// Returns the document without its spaces.
std::string Compact(const std::string& json) {
  return Json::parse(json).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Text of a script element: "</" would end it.
std::string InScript(const std::string& json) {
  return absl::StrReplaceAll(json, {{"</", "<\\/"}, {"<!--", "<\\!--"}});
}

Json PlaceToJson(const PointPlace& place) {
  return Json::array({place.run, place.point});
}

// Why a dot is hollow; "" where it is solid.
std::string DoubtOf(const PointResult& point) {
  return !point.void_reason.empty() ? absl::StrCat("void: ", point.void_reason)
         : point.interrupted        ? "cut short"
                                    : WhyNotCarried(point);
}

// What the charts draw beside the results. Which points count is decided here
// alone.
std::string MarksToJson(const PageData& data, bool is_simulated) {
  Json marks = {
      {"simulated", is_simulated},
      {"slo_ms", data.slo_ms ? Json(*data.slo_ms) : Json(nullptr)},
      {"chosen", data.chosen ? PlaceToJson(*data.chosen) : Json(nullptr)},
      {"frontier", Json::array()},
      {"tries", Json::array()},
      {"carried", Json::array()},
      {"doubts", Json::array()},
      {"sub_bucket_bits", kLatencySubBucketBits},
      {"currency", nullptr},
      {"costs", Json::array()},
      {"saturation", Json::array()},
      {"backed_by",
       {{"p50", SamplesFor(0.5)},
        {"p90", SamplesFor(0.9)},
        {"p99", SamplesFor(0.99)},
        {"p99.9", SamplesFor(0.999)}}}};
  for (const RunResult& run : data.runs) {
    const auto saturation = SaturationOf(run);
    marks["saturation"].push_back(saturation ? Json(saturation->rate)
                                             : Json(nullptr));
  }
  for (const PointPlace& place : data.front) {
    marks["frontier"].push_back(PlaceToJson(place));
  }
  for (size_t run = 0; run < data.runs.size(); ++run) {
    for (size_t point = 0; point < data.runs[run].points.size(); ++point) {
      if (IsTry(data.runs[run].points[point])) {
        marks["tries"].push_back(PlaceToJson({run, point}));
      }
      if (Carries(data.runs[run].points[point])) {
        marks["carried"].push_back(PlaceToJson({run, point}));
      }
      if (const std::string doubt = DoubtOf(data.runs[run].points[point]);
          !doubt.empty()) {
        marks["doubts"].push_back(
            {{"at", PlaceToJson({run, point})}, {"why", doubt}});
      }
    }
  }
  if (data.price.has_value()) {
    marks["currency"] = data.price->currency;
    for (const PointCost& cost : CostOfPoints(data.runs, *data.price)) {
      const PointResult& point =
          data.runs[cost.place.run].points[cost.place.point];
      const bool is_late =
          data.slo_ms && point.latency.p99_us > *data.slo_ms * 1e3;
      marks["costs"].push_back({{"at", PlaceToJson(cost.place)},
                                {"per_million", cost.per_million},
                                {"hollow", is_late || !Carries(point)}});
    }
  }
  return marks.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string FoldedUnlessEmpty(const char* summary, const ReportTable& table) {
  return table.rows.empty() ? "" : FoldedTable(summary, table);
}

// The page draws the latency's histograms; the others would double its size.
std::vector<RunResult> WhatIsDrawn(std::vector<RunResult> runs) {
  for (RunResult& run : runs) {
    for (PointResult& point : run.points) {
      point.histograms.latency_from_send = {};
      point.histograms.failed_latency = {};
      point.histograms.send_lag = {};
      for (ClassSummary& one : point.classes) {
        one.histogram = {};
      }
    }
  }
  return runs;
}

// Charts and tables count on what they draw.
absl::Status CheckHistograms(const std::vector<RunResult>& runs) {
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      const auto whole = Restore(point.histograms.latency);
      if (!whole.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", run.label, "', ", DescribeLoad(point), ": ",
                         whole.status().message()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ToHtml(const std::vector<RunResult>& runs,
                                   const PageOptions& options) {
  if (absl::Status status = CheckHistograms(runs); !status.ok()) {
    return status;
  }
  const auto asked_ms = options.slo_ms ? options.slo_ms : GoodputSloMs(runs);
  const auto slo_ms = asked_ms ? asked_ms : SearchedSloMs(runs);
  const PageData data = {
      .runs = runs,
      .slo_ms = slo_ms,
      .front = Frontier(runs),
      .chosen = slo_ms ? Chosen(runs, *slo_ms) : std::nullopt,
      .price = options.price};
  const bool is_simulated =
      std::any_of(runs.begin(), runs.end(),
                  [](const RunResult& run) { return run.is_simulated; });
  const ReportTable points = MakeTable(runs);
  return absl::StrReplaceAll(
      kReportPage,
      {{"{{style}}", kReportStyle},
       {"{{watermark}}",
        is_simulated ? "<div class=\"watermark\">simulated device</div>" : ""},
       {"{{facts}}", Escape(FactsInShort(runs))},
       {"{{verdict}}", Paragraphs(Verdicts(runs, asked_ms))},
       {"{{notes}}", NotesToHtml(runs, points.notes)},
       {"{{comparisons}}", ComparisonsToHtml(data)},
       {"{{settings}}", SettingsToHtml(data)},
       {"{{points}}", PointsToHtml(data)},
       {"{{money}}", MoneyToHtml(data)},
       {"{{all}}", FoldedTable("Points", points)},
       {"{{details}}", FoldedTable("From the send, intervals, send lag",
                                   MakeDetailTable(runs))},
       {"{{classes}}",
        FoldedUnlessEmpty("Classes of requests", MakeClassTable(runs))},
       {"{{offline_batches}}",
        FoldedUnlessEmpty("Batch sizes of offline queries",
                          MakeOfflineBatchTable(runs))},
       {"{{device}}",
        FoldedUnlessEmpty("The device's own counters", MakeDeviceTable(runs))},
       {"{{not_measured}}", List(NotMeasured(runs, options.price.has_value()))},
       {"{{relative_error}}",
        absl::StrFormat("%.1f", kLatencyRelativeError * 100)},
       {"{{runs}}", FactsToHtml(runs)},
       {"{{json}}", InScript(Compact(ToJson(WhatIsDrawn(runs))))},
       {"{{marks}}", InScript(MarksToJson(data, is_simulated))},
       {"{{script}}", kReportScript},
       {"{{chart_library}}", kChartLibrary}});
}

}  // namespace ferry::bench
