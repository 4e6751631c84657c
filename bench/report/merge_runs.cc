// Implements MergeRuns(): checks that two runs are of one load, then adds them.
#include "bench/report/merge_runs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bench/report/goodput.h"
#include "bench/report/report_table.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr double kWindowPrecision = 1e-3;  // of its length
constexpr double kLeastOverlap = 0.9;      // of two windows

// The error that says where.
absl::Status Differs(const std::string& where, const std::string& what,
                     const std::string& expected, const std::string& got) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": expected ", what,
                                                 " as in the first file, ",
                                                 expected, ", got ", got));
}

absl::Status CheckRun(const RunResult& first, const RunResult& other,
                      const std::string& where) {
  if (other.model != first.model) {
    return Differs(where, "the model", first.model, other.model);
  }
  if (other.address != first.address) {
    return Differs(where, "the server", first.address, other.address);
  }
  if (other.warm_up_s != first.warm_up_s) {
    return Differs(where, "a warm-up", absl::StrCat(first.warm_up_s, " s"),
                   absl::StrCat(other.warm_up_s, " s"));
  }
  if (other.rows_per_request != first.rows_per_request ||
      other.classes != first.classes) {
    return Differs(where, "requests",
                   absl::StrCat(first.rows_per_request, " rows, ",
                                first.classes.size(), " classes"),
                   absl::StrCat(other.rows_per_request, " rows, ",
                                other.classes.size(), " classes"));
  }
  if (other.points.size() != first.points.size()) {
    return Differs(where, "points", absl::StrCat(first.points.size()),
                   absl::StrCat(other.points.size()));
  }
  return absl::OkStatus();
}

// Whether it is whole: has what is added.
absl::Status CheckPoint(const PointResult& point, const std::string& where) {
  if (point.histograms.latency.count != point.ok || point.begun.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": expected a histogram of its ", point.ok,
        " successes and when it was begun; older files have none"));
  }
  if (point.loop == "offline") {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": expected open or closed loops, got ",
                     DescribeLoad(point), ": a query is of one client"));
  }
  if (point.interrupted) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": expected whole points, got one cut short"));
  }
  return absl::OkStatus();
}

// The share of the windows in which both were measured.
double Overlap(const PointResult& one, const PointResult& other) {
  absl::Time begin;
  absl::Time other_begin;
  std::string wrong;
  if (!absl::ParseTime(absl::RFC3339_full, one.begun, &begin, &wrong) ||
      !absl::ParseTime(absl::RFC3339_full, other.begun, &other_begin, &wrong)) {
    return 0;
  }
  const double apart_s = absl::ToDoubleSeconds(begin - other_begin);
  return 1 - std::abs(apart_s) / one.window_s;
}

absl::Status CheckTwo(const PointResult& first, const PointResult& other,
                      const std::string& where) {
  if (other.loop != first.loop || other.arrivals != first.arrivals ||
      other.classes.size() != first.classes.size()) {
    return Differs(where, "a load", DescribeLoad(first), DescribeLoad(other));
  }
  if (std::abs(other.window_s - first.window_s) >
      kWindowPrecision * first.window_s) {
    return Differs(where, "a window", absl::StrCat(first.window_s, " s"),
                   absl::StrCat(other.window_s, " s"));
  }
  if (Overlap(first, other) < kLeastOverlap) {
    return Differs(where, "a window at the same time", first.begun,
                   other.begun);
  }
  if (first.loop == "open" && other.seed == first.seed) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": expected another seed than in the other files, got ",
        other.seed, ": both planned their requests for the same moments"));
  }
  if (first.begun == other.begun && first.ok == other.ok &&
      first.histograms.latency == other.histograms.latency) {
    return absl::InvalidArgumentError(
        absl::StrCat(where,
                     ": expected another client's, got what another "
                     "file has: begun ",
                     other.begun));
  }
  return absl::OkStatus();
}

absl::Status Add(const HistogramRecord& from, HistogramRecord& to) {
  auto sum = Restore(to);
  const auto added = Restore(from);
  if (!sum.ok() || !added.ok()) {
    return sum.ok() ? added.status() : sum.status();
  }
  sum->Merge(*added);
  to = RecordOf(*sum);
  return absl::OkStatus();
}

absl::Status Add(const HistogramRecord& from, HistogramRecord& to,
                 LatencySummary& summary) {
  if (absl::Status status = Add(from, to); !status.ok()) {
    return status;
  }
  summary = Summarize(*Restore(to));
  return absl::OkStatus();
}

void Add(const std::map<std::string, uint64_t>& from,
         std::map<std::string, uint64_t>& to) {
  for (const auto& [code, count] : from) {
    to[code] += count;
  }
}

// Keeps the first reason there is.
void AddReason(const std::string& where, const std::string& from,
               std::string& to) {
  if (to.empty() && !from.empty()) {
    to = absl::StrCat("in ", where, ": ", from);
  }
}

absl::Status AddHistograms(const PointResult& from, PointResult& to) {
  const PointHistograms& other = from.histograms;
  absl::Status status = Add(other.latency, to.histograms.latency, to.latency);
  status.Update(Add(other.latency_from_send, to.histograms.latency_from_send,
                    to.latency_from_send));
  status.Update(Add(other.failed_latency, to.histograms.failed_latency,
                    to.failed_latency));
  status.Update(Add(other.send_lag, to.histograms.send_lag, to.send_lag));
  for (size_t i = 0; i < to.classes.size(); ++i) {
    status.Update(Add(from.classes[i].histogram, to.classes[i].histogram,
                      to.classes[i].latency));
  }
  return status;
}

absl::Status AddPoint(const PointResult& from, const std::string& where,
                      PointResult& to) {
  to.outstanding += from.outstanding;
  to.target_rate += from.target_rate;
  to.offered_rate += from.offered_rate;
  to.achieved_rate += from.achieved_rate;
  to.planned += from.planned;
  to.ok += from.ok;
  Add(from.errors, to.errors);
  for (size_t i = 0; i < to.classes.size(); ++i) {
    to.classes[i].planned += from.classes[i].planned;
    to.classes[i].ok += from.classes[i].ok;
    Add(from.classes[i].errors, to.classes[i].errors);
  }
  AddReason(where, from.void_reason, to.void_reason);
  AddReason(where, from.unsteady, to.unsteady);
  return AddHistograms(from, to);
}

// Clears what one file has and a joined point cannot have.
void LeaveOut(PointResult& point, size_t files) {
  point.load.reset();
  point.mean_interval.reset();
  point.p50_interval.reset();
  point.p99_interval.reset();
  point.series.clear();
  // Poisson arrivals, added, are Poisson; others are of no kind with a name.
  if (point.loop == "open" && !point.arrivals.empty() &&
      point.arrivals != "poisson") {
    point.arrivals = absl::StrCat(files, " x ", point.arrivals);
  }
}

// The name of a point in messages.
std::string PointName(const RunsOfFile& file, size_t point) {
  return absl::StrCat(file.name, ", point ", point + 1);
}

// The points of run `i` of all files.
absl::Status JoinPoints(const std::vector<RunsOfFile>& files, size_t i,
                        RunResult& joined) {
  for (size_t p = 0; p < joined.points.size(); ++p) {
    PointResult& to = joined.points[p];
    for (size_t f = 0; f < files.size(); ++f) {
      const PointResult& from = files[f].runs[i].points[p];
      const std::string where = PointName(files[f], p);
      absl::Status status = CheckPoint(from, where);
      for (size_t before = 0; before < f && status.ok(); ++before) {
        status = CheckTwo(files[before].runs[i].points[p], from, where);
      }
      if (status.ok() && f > 0) {
        status = AddPoint(from, where, to);
      }
      if (!status.ok()) {
        return status;
      }
    }
    LeaveOut(to, files.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RunResult>> MergeRuns(
    const std::vector<RunsOfFile>& files) {
  std::vector<RunResult> joined = files.front().runs;
  for (const RunsOfFile& file : files) {
    if (file.runs.size() != joined.size()) {
      return Differs(file.name, "runs", absl::StrCat(joined.size()),
                     absl::StrCat(file.runs.size()));
    }
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    RunResult& run = joined[i];
    if (run.search.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          files.front().name, ": expected a result of `run`, got a search"));
    }
    for (size_t f = 1; f < files.size(); ++f) {
      const RunResult& other = files[f].runs[i];
      if (absl::Status status = CheckRun(run, other, files[f].name);
          !status.ok()) {
        return status;
      }
      absl::StrAppend(&run.command, " + ", other.command);
    }
    if (absl::Status status = JoinPoints(files, i, run); !status.ok()) {
      return status;
    }
    run.saturation_rate = MeasuredSaturation(run);
    if (run.slo_ms.has_value()) {
      SetGoodput(*run.slo_ms, run);  // of the joined latencies
    }
  }
  return joined;
}

}  // namespace ferry::bench
