// Implements the questions to Prometheus: JSON to samples.
#include "deploy/ctl/prometheus_client.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "bench/plan/object_reader.h"
#include "deploy/ctl/json_member.h"

namespace ferry::ctl {
namespace {

using Json = nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(60);
constexpr size_t kMaxShown = 200;  // bytes of a message of Prometheus
constexpr char kQueryPage[] = "/api/v1/query";
constexpr char kRangePage[] = "/api/v1/query_range";

absl::Status NotAsExpected(const std::string& name, const HttpReply& reply) {
  return absl::UnavailableError(
      absl::StrCat(name, ": expected an answer of Prometheus, got HTTP code ",
                   reply.code, " and '", PrintableText(reply.body, kMaxShown),
                   "'; is the URL that of Prometheus?"));
}

// Returns the samples or series of an answer, which is of that type.
absl::StatusOr<Json> ParseResult(const HttpReply& reply, const char* type,
                                 const std::string& name) {
  const auto json = plan::ParseObject(reply.body, name);
  if (!json.ok() || !json->is_object()) {
    return NotAsExpected(name, reply);
  }
  if (TextOf(Member(*json, "status")) == "error") {
    return absl::UnavailableError(absl::StrCat(
        name, ": Prometheus answers an error, ",
        PrintableText(TextOf(Member(*json, "errorType")), kMaxShown), ": ",
        PrintableText(TextOf(Member(*json, "error")), kMaxShown)));
  }
  const Json& data = Member(*json, "data");
  const Json& result = Member(data, "result");
  if (TextOf(Member(data, "resultType")) != type || !result.is_array()) {
    return NotAsExpected(name, reply);
  }
  return result;
}

struct TimedValue {
  double time_s = 0;
  double value = 0;
};

// Reads [1700000000.123, "0.25"].
std::optional<TimedValue> ParseValue(const Json& json) {
  TimedValue parsed;
  if (!json.is_array() || json.size() != 2 || !json[0].is_number() ||
      !absl::SimpleAtod(TextOf(json[1]), &parsed.value)) {
    return std::nullopt;
  }
  parsed.time_s = json[0].get<double>();
  return parsed;
}

std::optional<SeriesSample> ParseSample(const Json& json) {
  const auto value = ParseValue(Member(json, "value"));
  if (!value.has_value()) {
    return std::nullopt;
  }
  SeriesSample sample;
  sample.value = value->value;
  for (const auto& [label, text] : Member(json, "metric").items()) {
    sample.labels[label] = TextOf(text);
  }
  return sample;
}

absl::StatusOr<HttpReply> Ask(const HttpSource& source, const char* page,
                              const HttpParameters& parameters) {
  return GetPage(source, page, parameters, kTimeout);
}

}  // namespace

std::string SeriesSample::Label(const std::string& name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

absl::StatusOr<int64_t> AskTime(const HttpSource& source) {
  const auto samples = QueryNow(source, "vector(time())");
  if (!samples.ok()) {
    return samples.status();
  }
  // TimeText() and sums of seconds hold what is before the year 9999.
  constexpr double kLatest = 2.5e11;
  if (samples->size() != 1 || !(samples->front().value >= 0) ||
      !(samples->front().value < kLatest)) {
    return absl::UnavailableError(
        absl::StrCat(source.url(),
                     ": expected the time of Prometheus as one "
                     "sample, got another answer"));
  }
  return static_cast<int64_t>(samples->front().value);
}

absl::StatusOr<std::vector<SeriesSample>> ParseNow(const HttpReply& reply,
                                                   const std::string& name) {
  const auto result = ParseResult(reply, "vector", name);
  if (!result.ok()) {
    return result.status();
  }
  std::vector<SeriesSample> samples;
  for (const Json& json : *result) {
    auto sample = ParseSample(json);
    if (!sample.has_value()) {
      return NotAsExpected(name, reply);
    }
    samples.push_back(*std::move(sample));
  }
  return samples;
}

absl::StatusOr<plan::Samples> ParseRange(const HttpReply& reply,
                                         const TimeRange& range,
                                         const std::string& name) {
  const auto result = ParseResult(reply, "matrix", name);
  if (!result.ok()) {
    return result.status();
  }
  if (result->size() > 1) {
    return absl::UnavailableError(
        absl::StrCat(name, ": expected one series, got ", result->size()));
  }
  plan::Samples samples(range.steps);
  const Json& values =
      result->empty() ? *result : Member(result->front(), "values");
  if (!values.is_array()) {
    return NotAsExpected(name, reply);
  }
  for (const Json& json : values) {
    const auto value = ParseValue(json);
    if (!value.has_value()) {
      return NotAsExpected(name, reply);
    }
    const double step =
        std::round((value->time_s - static_cast<double>(range.begin_s)) /
                   static_cast<double>(range.step_s));
    if (!(step >= 0 && step < static_cast<double>(range.steps))) {
      return NotAsExpected(name, reply);
    }
    samples[static_cast<size_t>(step)] = plan::SampleOf(value->value);
  }
  return samples;
}

absl::StatusOr<std::vector<SeriesSample>> QueryNow(const HttpSource& source,
                                                   const std::string& query) {
  const auto reply = Ask(source, kQueryPage, {{"query", query}});
  return reply.ok() ? ParseNow(*reply, source.url()) : reply.status();
}

absl::StatusOr<plan::Samples> QueryRange(const HttpSource& source,
                                         const std::string& query,
                                         const TimeRange& range) {
  const auto reply = Ask(source, kRangePage,
                         {{"query", query},
                          {"start", absl::StrCat(range.begin_s)},
                          {"end", absl::StrCat(range.end_s())},
                          {"step", absl::StrCat(range.step_s)}});
  return reply.ok() ? ParseRange(*reply, range, source.url()) : reply.status();
}

}  // namespace ferry::ctl
