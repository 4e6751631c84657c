// Implements FindSloPoint(): gives each point one reason, the first that keeps
// it from saying what a replica carries.
#include "bench/commands/slo_point.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/plan/number_check.h"
#include "bench/report/report_json.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

// Below it p99 rests on fewer than ten requests.
constexpr uint64_t kFewRequests = 1000;

// From one rate to the next: a finer step leaves lambda_max known to 10 %.
constexpr double kFineStep = 1.1;

constexpr char kUnsteady[] = "unsteady: ";

bool IsOpen(const PointResult& point) { return point.loop == "open"; }

// Whether the numbers of the point stand, whatever they are.
bool Stands(const PointResult& point) {
  return IsOpen(point) && point.void_reason.empty() && !point.interrupted;
}

// Returns why the point does not count, or "" where it does.
std::string WhyNot(const RunResult& run, const PointResult& point,
                   double p99_ms) {
  if (IsTry(point)) {
    return "a try of a search";
  }
  if (IsUnconfirmed(run, point)) {
    return "a rate that the search did not confirm";
  }
  if (!IsOpen(point)) {
    return "a closed loop, which waits for the server";
  }
  if (!Stands(point)) {
    return point.interrupted ? "cut short"
                             : absl::StrCat("void: ", point.void_reason);
  }
  if (!(SuccessShare(point) >= kLeastSuccessShare)) {
    return absl::StrFormat("%.2f %% succeeded", SuccessShare(point) * 100);
  }
  if (!(point.latency.p99_us <= p99_ms * 1e3)) {
    return absl::StrFormat("p99 %.2f ms", point.latency.p99_us / 1e3);
  }
  const std::string unsteady = WhyUnsteady(point);
  return unsteady.empty() ? "" : absl::StrCat(kUnsteady, unsteady);
}

std::string Reasons(const std::vector<RunResult>& runs, double p99_ms) {
  std::vector<std::string> reasons;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      reasons.push_back(
          absl::StrCat(DescribeLoad(point), ": ", WhyNot(run, point, p99_ms)));
    }
  }
  return reasons.empty() ? "there are no points" : absl::StrJoin(reasons, "; ");
}

// Whether the search was for that bound.
bool IsOf(const SearchSummary& search, double p99_ms) {
  return search.percentile == 99 && search.slo_ms == p99_ms;
}

// Returns how well the points around the chosen one bound lambda_max.
std::vector<std::string> DoubtsOfRates(const std::vector<RunResult>& runs,
                                       const PointResult& best, double p99_ms) {
  std::vector<std::string> notes;
  double next_rate = std::numeric_limits<double>::infinity();
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (!Stands(point) || IsTry(point) || IsUnconfirmed(run, point)) {
        continue;
      }
      const std::string reason = WhyNot(run, point, p99_ms);
      if (point.offered_rate > best.offered_rate) {
        next_rate = std::min(next_rate, point.offered_rate);
        if (absl::StartsWith(reason, kUnsteady)) {
          notes.push_back(absl::StrFormat(
              "a higher rate had p99 within the SLO and counts as missed (%s: "
              "%s)",
              DescribeLoad(point), reason));
        }
      } else if (!reason.empty()) {
        notes.push_back(absl::StrFormat(
            "a lower rate missed the SLO (%s: %s): measure again, for longer",
            DescribeLoad(point), reason));
      }
    }
  }
  if (std::any_of(runs.begin(), runs.end(), [&](const RunResult& run) {
        return run.search.has_value() && IsOf(*run.search, p99_ms);
      })) {
    return notes;  // the search has tried higher rates
  }
  for (const RunResult& run : runs) {
    if (run.search.has_value()) {
      notes.push_back(
          absl::StrFormat("its search was for %s, not for p99 <= %g ms",
                          DescribeBound(*run.search), p99_ms));
    }
  }
  if (!std::isfinite(next_rate)) {
    notes.push_back(
        "no higher rate was measured: lambda_max may be more than this");
  } else if (next_rate > kFineStep * best.offered_rate) {
    notes.push_back(absl::StrFormat(
        "the next rate that was measured, %.1f/s, missed the SLO: lambda_max "
        "lies between; measure in smaller steps",
        next_rate));
  }
  return notes;
}

// Returns what keeps the chosen point from being the whole truth.
std::vector<std::string> Doubts(const std::vector<RunResult>& runs,
                                const SloPoint& chosen, double p99_ms) {
  std::vector<std::string> notes = DoubtsOfRates(runs, chosen.point, p99_ms);
  const uint64_t ok = chosen.point.ok;
  if (ok < kFewRequests) {
    notes.push_back(absl::StrFormat(
        "p99 rests on the slowest %d of %d requests: measure for longer",
        ok / 100 + 1, ok));
  }
  if (chosen.rows_per_request != 1) {
    notes.push_back(
        absl::StrCat("a request has ", chosen.rows_per_request, " rows"));
  }
  if (chosen.is_simulated) {
    notes.push_back(absl::StrCat(
        "'", chosen.label,
        "' ran on a simulated device: its numbers say nothing about hardware"));
  }
  return notes;
}

}  // namespace

absl::StatusOr<std::vector<RunResult>> SelectRuns(
    const std::vector<RunResult>& runs, const std::string& label,
    const std::string& name) {
  std::vector<RunResult> selected;
  std::set<std::string> labels;
  for (const RunResult& run : runs) {
    labels.insert(run.label);
    if (label.empty() || run.label == label) {
      selected.push_back(run);
    }
  }
  if (selected.empty() || (label.empty() && labels.size() > 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected the label of one of its runs, '",
                     absl::StrJoin(labels, "' or '"), "', got '", label, "'"));
  }
  return selected;
}

absl::StatusOr<SloPoint> FindSloPoint(const std::vector<RunResult>& runs,
                                      double p99_ms) {
  if (absl::Status status = plan::CheckPositive("p99 of the SLO", p99_ms);
      !status.ok()) {
    return status;
  }
  SloPoint best;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (WhyNot(run, point, p99_ms).empty() &&
          point.achieved_rate > best.lambda_max()) {
        best = {run.label,        run.model, run.rows_per_request,
                run.is_simulated, point,     {}};
      }
    }
  }
  if (!(best.lambda_max() > 0)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "lambda_max: expected an open-loop point with p99 <= %g ms and %g %% "
        "successes, measured by `ferry-bench run` with --rates or --loads; "
        "got %s",
        p99_ms, kLeastSuccessShare * 100, Reasons(runs, p99_ms)));
  }
  best.notes = Doubts(runs, best, p99_ms);
  return best;
}

absl::StatusOr<SloPoint> ReadSloPoint(const std::string& path,
                                      const std::string& label, double p99_ms) {
  const auto runs = ReadRuns({path});
  if (!runs.ok()) {
    return runs.status();
  }
  const auto selected = SelectRuns(*runs, label, path);
  if (!selected.ok()) {
    return selected.status();
  }
  auto limit = FindSloPoint(*selected, p99_ms);
  if (!limit.ok()) {
    return absl::Status(limit.status().code(),
                        absl::StrCat(path, ": ", limit.status().message()));
  }
  return limit;
}

}  // namespace ferry::bench
