// Implements the rules by a point's own purpose and its run's search.
#include "bench/report/point_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/load/falling_behind.h"
#include "bench/report/number_text.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

// Counts what CountAnswered() does of a load. REQUIRES: requests were planned,
// at a rate.
SentAndAnswered AnsweredOf(const PointResult& point) {
  uint64_t failed = point.error_count();
  for (const char* unanswered : {"NOT_SENT", "UNANSWERED"}) {
    const auto found = point.errors.find(unanswered);
    failed -= found == point.errors.end() ? 0 : found->second;
  }
  const auto sent = static_cast<double>(point.planned);
  const double window_s = sent / point.offered_rate;
  const double waited_us =
      point.latency.mean_us * static_cast<double>(point.ok) +
      point.failed_latency.mean_us * static_cast<double>(failed);
  return {
      .sent = sent,
      .answered = point.achieved_rate * window_s + static_cast<double>(failed),
      .under_way = waited_us / 1e6 / window_s};
}

}  // namespace

double SuccessShare(const PointResult& point) {
  return point.planned == 0 ? 0
                            : static_cast<double>(point.ok) /
                                  static_cast<double>(point.planned);
}

std::string WhyUnsteady(const PointResult& point) {
  if (!point.unsteady.empty() || point.loop != "open" ||
      !(point.offered_rate > 0) || point.planned == 0) {
    return point.unsteady;
  }
  const SentAndAnswered requests = AnsweredOf(point);
  return FellBehind(requests)
             ? absl::StrFormat(
                   "%.0f/s were sent and %.0f/s answered: the "
                   "queue grew",
                   point.offered_rate,
                   point.offered_rate * requests.answered / requests.sent)
             : "";
}

std::string WhyNotCarried(const PointResult& point) {
  if (SuccessShare(point) < kLeastSuccessShare) {
    return absl::StrCat(Percent(1 - SuccessShare(point)), " failed");
  }
  const std::string unsteady = WhyUnsteady(point);
  return unsteady.empty() ? "" : absl::StrCat("unsteady: ", unsteady);
}

bool IsTry(const PointResult& point) {
  return !point.purpose.empty() && !absl::StartsWith(point.purpose, "confirm");
}

bool IsUnconfirmed(const RunResult& run, const PointResult& point) {
  return run.search.has_value() && point.loop == "open" &&
         point.target_rate != run.search->found_rate;
}

std::optional<double> UnconfirmedRate(const RunResult& run) {
  std::optional<double> highest;
  for (const PointResult& point : run.points) {
    if (run.search.has_value() && !run.search->found_rate.has_value() &&
        IsTry(point) && absl::EndsWith(point.purpose, ": met") &&
        point.target_rate > highest.value_or(0)) {
      highest = point.target_rate;
    }
  }
  return highest;
}

std::vector<std::string> LoadsWithoutSuccess(const RunResult& run) {
  std::vector<std::string> loads;
  for (const PointResult& point : run.points) {
    if (point.ok == 0 && !point.interrupted && !IsTry(point) &&
        !run.search.has_value()) {
      loads.push_back(DescribeLoad(point));
    }
  }
  return loads;
}

bool IsForOtherTools(const PointResult& point) {
  return point.loop != "offline" && point.void_reason.empty();
}

size_t NotForOtherTools(const std::vector<RunResult>& runs) {
  size_t count = 0;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      count += IsForOtherTools(point) ? 0 : 1;
    }
  }
  return count;
}

}  // namespace ferry::bench
