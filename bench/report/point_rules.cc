// By what a point says of its purpose, and its run of its search.
#include "bench/report/point_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "bench/report/report_table.h"

namespace ferry::bench {

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
  // One request may always be under way.
  const double others = static_cast<double>(point.error_count() + 1) /
                        static_cast<double>(point.planned);
  if (point.achieved_rate / point.offered_rate + others >=
      kLeastAnsweredShare) {
    return "";
  }
  return absl::StrFormat("%.0f/s succeeded of %.0f/s sent: the queue grew",
                         point.achieved_rate, point.offered_rate);
}

bool IsTry(const PointResult& point) {
  return !point.purpose.empty() && !absl::StartsWith(point.purpose, "confirm");
}

bool IsUnconfirmed(const RunResult& run, const PointResult& point) {
  return run.search.has_value() && point.loop == "open" &&
         point.target_rate != run.search->found_rate;
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

}  // namespace ferry::bench
