// Implements ParseScenario() and PlanOffline(): turns names into loads.
#include "bench/commands/scenario.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferry::bench {
namespace {

constexpr int32_t kMostRows = 1 << 20;
constexpr double kLeastRate = 1e-3;
constexpr double kMostRate = 1e9;
constexpr uint64_t kMostSamples = 1'000'000'000'000;
constexpr int32_t kMostOutstanding = 1 << 16;
constexpr int32_t kBatchesOutstanding = 4;  // an instance

absl::Status Wrong(absl::string_view expected, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--scenario: expected ", expected, ", got '", text, "'"));
}

bool ReadCount(absl::string_view text, int32_t most, int32_t* count) {
  return absl::SimpleAtoi(text, count) && *count >= 1 && *count <= most;
}

// Returns whether `text` is SAMPLES[,ROWS[,OUTSTANDING]].
bool ReadOffline(absl::string_view text, OfflineScenario* offline) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  // A view of nothing has no part.
  return !parts.empty() && parts.size() <= 3 &&
         absl::SimpleAtoi(parts[0], &offline->samples) &&
         offline->samples >= 1 && offline->samples <= kMostSamples &&
         (parts.size() < 2 || ReadCount(parts[1], kMostRows, &offline->rows)) &&
         (parts.size() < 3 ||
          ReadCount(parts[2], kMostOutstanding, &offline->outstanding));
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
    if (!ReadCount(parts.second, kMostRows, &scenario.rows)) {
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
    Scenario scenario;
    if (!ReadOffline(parts.second, &scenario.offline)) {
      return Wrong(
          "offline:SAMPLES[,ROWS[,OUTSTANDING]] with SAMPLES from 1 to 1e12 "
          "rows, ROWS of a request from 1 to 1048576 and OUTSTANDING requests "
          "from 1 to 65536",
          text);
    }
    scenario.rows = scenario.offline.rows;
    return scenario;
  }
  return Wrong(kScenarioForms, text);
}

OfflineQuery PlanOffline(const OfflineScenario& scenario,
                         int32_t max_batch_size, int32_t instances) {
  const int32_t most = std::max(max_batch_size, 1);
  OfflineQuery query;
  query.rows = scenario.rows > 0 && max_batch_size > 0 ? scenario.rows : most;
  const auto rows = static_cast<uint64_t>(query.rows);
  query.requests = (scenario.samples + rows - 1) / rows;
  const int32_t a_batch = std::max((most + query.rows - 1) / query.rows, 1);
  query.outstanding = scenario.outstanding > 0
                          ? scenario.outstanding
                          : std::min(kBatchesOutstanding * instances *
                                         std::min(a_batch, 1 << 12),
                                     kMostOutstanding);
  return query;
}

}  // namespace ferry::bench
