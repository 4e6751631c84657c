// Implements MakeTable(): formats points; milliseconds with three figures that
// matter.
#include "bench/report/report_table.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/report/frontier.h"
#include "bench/report/goodput.h"
#include "bench/report/number_text.h"
#include "bench/report/percentile_text.h"
#include "bench/report/point_rules.h"
#include "bench/report/rate_comparison.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

// What the server says of its part; "-" where it does not.
std::string MsOrNone(const PointResult& point, double ServerTimes::*part) {
  return point.server_times.has_value() ? Ms((*point.server_times).*part) : "-";
}

std::string Optional(const std::optional<double>& value,
                     const absl::ParsedFormat<'f'>& format) {
  return value.has_value() ? absl::StrFormat(format, *value) : "-";
}

constexpr size_t kGoodputColumn = 4;  // after achieved/s

std::vector<std::string> SimulatedLabels(const std::vector<RunResult>& runs) {
  std::vector<std::string> labels;
  for (const RunResult& run : runs) {
    if (run.is_simulated) {
      labels.push_back(run.label);
    }
  }
  return labels;
}

std::vector<std::string> MakeRow(const RunResult& run,
                                 const PointResult& point) {
  const auto latency = [&](double us, double q) {
    return PercentileMs(us, point.ok, q);
  };
  return {run.label,
          DescribeLoad(point),
          absl::StrFormat("%.0f", point.offered_rate),
          absl::StrFormat("%.0f", point.achieved_rate),
          latency(point.latency.p50_us, 0.5),
          latency(point.latency.p90_us, 0.9),
          latency(point.latency.p99_us, 0.99),
          latency(point.latency.p999_us, 0.999),
          latency(point.latency.p9999_us, 0.9999),
          latency(point.latency.max_us, 0),
          Optional(point.mean_rows, absl::ParsedFormat<'f'>("%.2f")),
          Optional(point.busy_ratio, absl::ParsedFormat<'f'>("%.2f")),
          MsOrNone(point, &ServerTimes::queue_us),
          MsOrNone(point, &ServerTimes::compute_infer_us),
          DescribeErrors(point.errors),
          point.loop == "offline" ? "-" : Ms(point.send_lag.p99_us),
          !point.void_reason.empty()    ? "void"
          : point.interrupted           ? "cut short"
          : !WhyUnsteady(point).empty() ? "unsteady"
                                        : point.purpose};
}

// Returns what to do about a VoidReason() of the run, or about what merge makes
// of some; "" where nothing helps.
std::string AdviceOnVoid(const RunResult& run, const std::string& reason) {
  if (absl::StrContains(reason, kSentLate)) {
    return absl::StrCat(
        "void as the client was late: it needs a processor of its own; ",
        run.address.empty()  // in this process
            ? "send less, or measure where more processors are free"
            : "measure from another machine, give client and server "
              "processors of their own (taskset), or send less, with "
              "--connections 1 --queues 1");
  }
  // Sent late, or never: no answer made a call free.
  return absl::StrContains(reason, kHeldBack) ||
                 absl::StrContains(reason, kNeverSent)
             ? "void as requests waited in the client: --max-outstanding were "
               "under way; lower the rate, or raise --max-outstanding"
             : "";
}

bool AnyUnbacked(const std::vector<RunResult>& runs) {
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (point.ok > 0 && !IsBacked(point.ok, 0.9999)) {
        return true;
      }
    }
  }
  return false;
}

// Says where loads are shares of a saturation that is not sure: of an unsteady
// closed loop, or less than what one achieved.
void NoteSaturation(const RunResult& run, std::vector<std::string>& notes) {
  if (std::none_of(
          run.points.begin(), run.points.end(),
          [](const PointResult& point) { return point.load.has_value(); })) {
    return;
  }
  if (const std::string doubt = DoubtOfSaturation(run); !doubt.empty()) {
    notes.push_back(absl::StrFormat(
        "'%s': its loads are shares of %.0f/s, which may not be its saturation "
        "(%s): measure again, for longer or on a machine with less to do",
        run.label, run.saturation_rate, doubt));
    return;
  }
  for (const PointResult& point : run.points) {
    if (point.loop == "closed" && Stands(point) && !IsSteady(point) &&
        run.saturation_rate > 0 && point.achieved_rate > run.saturation_rate) {
      notes.push_back(absl::StrFormat(
          "'%s': its loads are shares of %.0f/s, without %s (%.0f/s), which "
          "was unsteady: the server may do more",
          run.label, run.saturation_rate, DescribeLoad(point),
          point.achieved_rate));
    }
  }
}

}  // namespace

std::string DescribeErrors(const std::map<std::string, uint64_t>& errors) {
  if (errors.empty()) {
    return "0";
  }
  return absl::StrJoin(errors, ", ", [](std::string* out, const auto& error) {
    absl::StrAppend(out, error.second, " ", error.first);
  });
}

std::string DescribeLoad(const PointResult& point) {
  if (point.loop == "closed") {
    return absl::StrFormat("closed, %d outstanding", point.outstanding);
  }
  if (point.loop == "offline") {
    return absl::StrFormat("offline, %d rows", point.query_rows);
  }
  std::string text =
      point.load.has_value()
          ? absl::StrFormat("open, %.0f %% load", *point.load * 100)
          : absl::StrFormat("open, %.0f/s", point.target_rate);
  if (!point.arrivals.empty() && point.arrivals != "poisson") {
    absl::StrAppend(&text, ", ", point.arrivals);
  }
  return text;
}

namespace {

// Says how to send what the model takes, where it may have refused the contents
// of requests.
void NoteContents(const RunResult& run, std::vector<std::string>& notes) {
  std::map<std::string, uint64_t> refused;
  for (const PointResult& point : run.points) {
    for (const char* code :
         {"INTERNAL", "INVALID_ARGUMENT", "OUT_OF_RANGE", "UNKNOWN"}) {
      if (const auto found = point.errors.find(code);
          found != point.errors.end()) {
        refused[code] += found->second;
      }
    }
  }
  if (!refused.empty() && !run.content_advice.empty()) {
    notes.push_back(absl::StrFormat(
        "'%s': %s: the model may refuse what was sent: %s", run.label,
        DescribeErrors(refused), run.content_advice));
  }
}

}  // namespace

ReportTable MakeTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",       "load",       "offered/s",  "achieved/s",
                    "p50 ms",    "p90 ms",     "p99 ms",     "p99.9 ms",
                    "p99.99 ms", "max ms",     "rows/batch", "busy ratio",
                    "queue ms",  "compute ms", "errors",     "lag p99 ms",
                    "note"};
  table.notes = Compare(runs);
  const bool has_goodput = HasGoodput(runs);
  if (has_goodput) {
    table.headings.insert(table.headings.begin() + kGoodputColumn, "goodput/s");
    table.notes.push_back(DescribeGoodput(runs));
  }
  std::set<std::string> advice;  // each once, whatever points it is of
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      std::vector<std::string>& row =
          table.rows.emplace_back(MakeRow(run, point));
      if (has_goodput) {
        row.insert(row.begin() + kGoodputColumn,
                   NumberOrNone(point.goodput_rate, 0));
      }
      if (point.rows_rate.has_value()) {
        table.notes.push_back(absl::StrFormat(
            "'%s' %s a query of %d rows, %g a request and at most %d requests "
            "at a time, in %.3f s: %.1f rows/s (latencies count from the "
            "query's begin)",
            run.label,
            point.interrupted || !point.void_reason.empty() ? "did not end"
                                                            : "answered",
            point.query_rows, run.rows_per_request, point.outstanding,
            point.window_s, *point.rows_rate));
      }
      if (!point.void_reason.empty()) {
        table.notes.push_back(absl::StrCat("void: ", run.label, ", ",
                                           DescribeLoad(point), ": ",
                                           point.void_reason));
        advice.insert(AdviceOnVoid(run, point.void_reason));
      } else if (const std::string why = WhyUnsteady(point); !why.empty()) {
        table.notes.push_back(absl::StrCat("unsteady: ", run.label, ", ",
                                           DescribeLoad(point), ": ", why));
      }
    }
    NoteSaturation(run, table.notes);
    NoteContents(run, table.notes);
  }
  advice.erase("");
  for (const std::string& one : advice) {
    table.notes.push_back(one);
  }
  if (AnyUnbacked(runs)) {
    table.notes.push_back(absl::StrFormat(
        "?: too few requests for it: p99 takes %d, p99.9 %d, p99.99 %d",
        SamplesFor(0.99), SamplesFor(0.999), SamplesFor(0.9999)));
  }
  const std::vector<std::string> simulated = SimulatedLabels(runs);
  if (!simulated.empty()) {
    table.notes.push_back(absl::StrCat(
        "on a simulated device: '", absl::StrJoin(simulated, "', '"),
        "'; such times say nothing about hardware"));
  }
  return table;
}

ReportTable MakeClassTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",    "load",   "class",  "planned", "ok",
                    "p50 ms", "p99 ms", "max ms", "errors"};
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      for (size_t i = 0; i < point.classes.size(); ++i) {
        const ClassSummary& one = point.classes[i];
        table.rows.push_back(
            {run.label, DescribeLoad(point),
             i < run.classes.size() ? run.classes[i] : absl::StrCat(i),
             absl::StrCat(one.planned), absl::StrCat(one.ok),
             PercentileMs(one.latency.p50_us, one.ok, 0.5),
             PercentileMs(one.latency.p99_us, one.ok, 0.99),
             MsOrNone(one.latency.max_us), DescribeErrors(one.errors)});
      }
    }
  }
  return table;
}

ReportTable MakeDetailTable(const std::vector<RunResult>& runs) {
  ReportTable table;
  table.headings = {"run",          "load",          "from send p50 ms",
                    "p90 ms",       "p99 ms",        "p99.9 ms",
                    "max ms",       "mean ms",       "p50 95 % ms",
                    "p99 95 % ms",  "failed p50 ms", "failed max ms",
                    "lag p50 ms",   "lag p99 ms",    "lag max ms",
                    "seed",         "window s",      "busy ratio from",
                    "server in ms", "server out ms", "batches closed"};
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      const LatencySummary& sent = point.latency_from_send;
      const auto lag = [&](double us) {
        return point.loop == "offline" ? "-" : Ms(us);
      };
      table.rows.push_back(
          {run.label,
           DescribeLoad(point),
           PercentileMs(sent.p50_us, point.ok, 0.5),
           PercentileMs(sent.p90_us, point.ok, 0.9),
           PercentileMs(sent.p99_us, point.ok, 0.99),
           PercentileMs(sent.p999_us, point.ok, 0.999),
           Ms(sent.max_us),
           Ms(sent.mean_us),
           MsOrNone(point.p50_interval),
           MsOrNone(point.p99_interval),
           MsOrNone(point.failed_latency.p50_us),
           MsOrNone(point.failed_latency.max_us),
           lag(point.send_lag.p50_us),
           lag(point.send_lag.p99_us),
           lag(point.send_lag.max_us),
           point.loop == "open" ? absl::StrCat(point.seed) : "-",
           absl::StrFormat("%.1f", point.window_s),
           point.busy_source.empty() ? "-" : point.busy_source,
           MsOrNone(point, &ServerTimes::compute_input_us),
           MsOrNone(point, &ServerTimes::compute_output_us),
           point.closed.empty() ? "-" : DescribeErrors(point.closed)});
    }
  }
  return table;
}

}  // namespace ferry::bench
