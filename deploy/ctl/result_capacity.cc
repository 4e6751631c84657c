// Implements ResultCapacityAnswer() and MeasuredP99().
#include "deploy/ctl/result_capacity.h"

#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "bench/commands/slo_point.h"
#include "bench/plan/number_text.h"
#include "bench/report/report_json.h"
#include "deploy/ctl/capacity_answers.h"

namespace ferry::ctl {
namespace {

absl::StatusOr<std::vector<bench::RunResult>> ReadSelected(
    const MeasuredResult& result) {
  const auto runs = bench::ReadRuns({result.path});
  return runs.ok() ? bench::SelectRuns(*runs, result.label, result.path)
                   : runs.status();
}

}  // namespace

absl::StatusOr<Answer> ResultCapacityAnswer(const MeasuredResult& result,
                                            const plan::CapacityInput& input) {
  const auto limit =
      bench::ReadSloPoint(result.path, result.label, result.slo_p99_ms);
  if (!limit.ok()) {
    return limit.status();
  }
  const auto device = MeasuredDevice(result);
  if (!device.ok()) {
    return device.status();
  }
  plan::CapacityInput measured = input;
  measured.lambda_max = limit->lambda_max();
  auto answer = CapacityAnswer(
      measured,
      absl::StrCat("'", limit->label, "', model ", limit->model, ", p99 ",
                   plan::NumberText(limit->point.latency.p99_us / 1e3), " ms",
                   limit->is_simulated ? "; simulated device" : "",
                   device->empty() ? "" : absl::StrCat(", on ", *device)));
  for (const std::string& note : limit->notes) {
    if (answer.ok()) {
      answer->findings.push_back({Severity::kNote, "of_the_result", note});
    }
  }
  return answer;
}

absl::StatusOr<std::string> MeasuredDevice(const MeasuredResult& result) {
  const auto runs = ReadSelected(result);
  if (!runs.ok()) {
    return runs.status();
  }
  std::set<std::string> names;
  for (const bench::RunResult& run : *runs) {
    if (run.environment.device.has_value()) {
      names.insert(PrintableText(run.environment.device->device.name));
    }
  }
  if (names.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        result.path, ": expected runs on one device, got ",
        absl::StrJoin(names, " and "), ": give a file of the device's own"));
  }
  return names.empty() ? std::string() : *names.begin();
}

absl::StatusOr<std::optional<double>> MeasuredP99(const MeasuredResult& result,
                                                  double rate) {
  const auto runs = ReadSelected(result);
  if (!runs.ok()) {
    return runs.status();
  }
  std::optional<double> p99_ms;
  double lowest = std::numeric_limits<double>::infinity();
  for (const bench::RunResult& run : *runs) {
    for (const bench::PointResult& point : run.points) {
      const bool counts = point.loop == "open" && point.void_reason.empty() &&
                          !point.interrupted && !bench::IsTry(point);
      if (counts && point.achieved_rate >= rate &&
          point.achieved_rate < lowest) {
        lowest = point.achieved_rate;
        p99_ms = point.latency.p99_us / 1e3;
      }
    }
  }
  return p99_ms;
}

}  // namespace ferry::ctl
