// Names to loads.
#include "bench/commands/scenario.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferry::bench {
namespace {

constexpr int32_t kMostRows = 1 << 20;
constexpr double kLeastRate = 1e-3;
constexpr double kMostRate = 1e9;

absl::Status Wrong(absl::string_view expected, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--scenario: expected ", expected, ", got '", text, "'"));
}

}  // namespace

absl::StatusOr<Scenario> ParseScenario(const std::string& text) {
  if (text == "single-stream") {
    return Scenario{.outstanding = 1};
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "multi-stream") {
    Scenario scenario{.outstanding = 1};
    if (!absl::SimpleAtoi(parts.second, &scenario.rows) || scenario.rows < 1 ||
        scenario.rows > kMostRows) {
      return Wrong("multi-stream:N with N from 1 to 1048576 rows", text);
    }
    return scenario;
  }
  if (parts.first == "server") {
    Scenario scenario;
    if (!absl::SimpleAtod(parts.second, &scenario.rate) ||
        !(scenario.rate >= kLeastRate && scenario.rate <= kMostRate)) {
      return Wrong("server:RATE with RATE from 0.001 to 1e9 requests/s", text);
    }
    return scenario;
  }
  if (parts.first == "offline") {
    return Wrong(
        absl::StrCat(kScenarioForms,
                     "; offline is left out, as neither loop ends with the "
                     "last answer (--outstanding finds the throughput)"),
        text);
  }
  return Wrong(kScenarioForms, text);
}

}  // namespace ferry::bench
