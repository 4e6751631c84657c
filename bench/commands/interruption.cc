// Implements CountLoads() and DescribeInterruption(): counts loads left out.
#include "bench/commands/interruption.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ferry::bench {

size_t CountLoads(const SweepOptions& options) {
  const std::vector<int32_t>& closed = options.outstanding;
  const bool is_saturation_extra =
      !options.loads.empty() &&
      std::find(closed.begin(), closed.end(), options.saturation_outstanding) ==
          closed.end();
  return closed.size() + (is_saturation_extra ? 1 : 0) + options.rates.size() +
         options.loads.size() + (options.offline.has_value() ? 1 : 0);
}

std::string DescribeInterruption(size_t loads,
                                 const std::vector<RunResult>& runs) {
  size_t whole = 0;
  size_t cut_short = 0;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      whole += point.interrupted ? 0 : 1;
      // One that was stopped in its warm-up has measured nothing.
      cut_short += point.interrupted && point.planned > 0 ? 1 : 0;
    }
  }
  const size_t left = loads - std::min(loads, whole + cut_short);
  if (left + cut_short == 0) {
    return "";
  }
  const auto were = [](size_t count) { return count == 1 ? "was" : "were"; };
  std::string text = absl::StrCat(
      "interrupted: ", left > 0 ? left : cut_short, " of ", loads,
      loads == 1 ? " load " : " loads ", were(left > 0 ? left : cut_short),
      left > 0 ? " not measured" : " cut short");
  if (left > 0 && cut_short > 0) {
    absl::StrAppend(&text, ", ", cut_short, " ", were(cut_short), " cut short");
  }
  return text;
}

bool EndsCutShort(const RunResult& run) {
  return !run.points.empty() && run.points.back().interrupted;
}

}  // namespace ferry::bench
