// Absent and null are the same.
#include "bench/report/point_details.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

// Returns the value of a key, or null.
const Json& At(const Json& json, const char* key) {
  static const Json nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

std::optional<double> NumberAt(const Json& json, const char* key) {
  const Json& value = At(json, key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

absl::Status ReadServer(const Json& server, PointDetails& details) {
  details.queue_us = NumberAt(server, "queue_us");
  details.compute_input_us = NumberAt(server, "compute_input_us");
  details.compute_infer_us = NumberAt(server, "compute_infer_us");
  details.compute_output_us = NumberAt(server, "compute_output_us");
  for (const auto& [key, count] : At(server, "batches").items()) {
    int64_t rows = 0;
    if (!absl::SimpleAtoi(key, &rows) || rows <= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "server.batches: expected rows of a batch as keys, got \"", key,
          "\""));
    }
    details.batches[rows] = count.get<uint64_t>();
  }
  for (const auto& [reason, count] : At(server, "close_reasons").items()) {
    details.close_reasons[reason] = count.get<uint64_t>();
  }
  return absl::OkStatus();
}

absl::Status ReadHistogram(const Json& histogram, PointDetails& details) {
  uint64_t before = 0;
  for (const Json& bucket : At(histogram, "buckets")) {
    const auto highest_ns = bucket.at(0).get<uint64_t>();
    if (highest_ns < before) {
      return absl::InvalidArgumentError(
          absl::StrCat("histogram.buckets: expected them ascending, got ",
                       highest_ns, " after ", before));
    }
    before = highest_ns;
    details.buckets.push_back({highest_ns, bucket.at(1).get<uint64_t>()});
  }
  return absl::OkStatus();
}

absl::StatusOr<PointDetails> ReadPoint(const Json& point) {
  PointDetails details;
  if (auto status = ReadServer(At(point, "server"), details); !status.ok()) {
    return status;
  }
  if (auto status = ReadHistogram(At(point, "histogram"), details);
      !status.ok()) {
    return status;
  }
  const Json& device = At(point, "device");
  details.device = At(device, "name").is_null() ? "" : device.at("name");
  details.utilization = NumberAt(device, "utilization");
  details.memory_used_bytes = NumberAt(device, "memory_used_bytes");
  details.power_w = NumberAt(device, "power_w");
  return details;
}

}  // namespace

bool PointDetails::has_times() const {
  return queue_us.has_value() || compute_input_us.has_value() ||
         compute_infer_us.has_value() || compute_output_us.has_value();
}

bool PointDetails::has_device() const {
  return utilization.has_value() || memory_used_bytes.has_value() ||
         power_w.has_value();
}

absl::StatusOr<std::vector<std::vector<PointDetails>>> ReadDetails(
    const std::string& json) {
  // nlohmann reports by exception; this is its edge.
  try {
    std::vector<std::vector<PointDetails>> runs;
    const Json document = Json::parse(json);
    for (const Json& run : document.at("runs")) {
      std::vector<PointDetails>& points = runs.emplace_back();
      for (const Json& point : run.at("points")) {
        auto details = ReadPoint(point);
        if (!details.ok()) {
          return details.status();
        }
        points.push_back(*std::move(details));
      }
    }
    return runs;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("details of a point: ", error.what()));
  }
}

double QuantileUs(const std::vector<LatencyBucket>& buckets, double q) {
  uint64_t count = 0;
  for (const LatencyBucket& bucket : buckets) {
    count += bucket.count;
  }
  const double rank = std::ceil(q * static_cast<double>(count));
  uint64_t seen = 0;
  for (const LatencyBucket& bucket : buckets) {
    seen += bucket.count;
    if (bucket.count > 0 && static_cast<double>(seen) >= rank) {
      return static_cast<double>(bucket.highest_ns) / 1e3;
    }
  }
  return 0;
}

std::string JoinJson(const std::vector<std::string>& texts) {
  Json joined;
  for (const std::string& text : texts) {
    const Json document = Json::parse(text);
    if (joined.is_null()) {
      joined = document;
      continue;
    }
    for (const Json& run : document.at("runs")) {
      joined["runs"].push_back(run);
    }
  }
  return joined.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry::bench
