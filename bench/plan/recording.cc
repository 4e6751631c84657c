// Implements Recording: JSON to columns and back, and columns to quantiles.
#include "bench/plan/recording.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"
#include "bench/plan/object_reader.h"

namespace ferry::plan {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "ferry-recording/1";
constexpr size_t kMostSamples = 10'000'000;
constexpr double kLongestPeriodS = 3600;
constexpr double kMostRatePeriods = 3600;
constexpr double kSecondsPerHour = 3600;

// Reads a column that may be missing, of the length of those before it.
void ReadColumn(const std::string& key, ObjectReader& reader, size_t& size,
                Samples& column) {
  const Json* const values = reader.Find(key);
  if (values == nullptr) {
    return;
  }
  const std::string expected =
      size == 0 ? absl::StrCat("1 to ", kMostSamples,
                               " numbers of 0 or more, null where there is "
                               "none")
                : absl::StrCat(size,
                               " numbers of 0 or more or null, as many "
                               "as the column before");
  if (!values->is_array() || values->empty() || values->size() > kMostSamples ||
      (size != 0 && values->size() != size)) {
    reader.Refuse(key, expected);
    return;
  }
  size = values->size();
  column.reserve(size);
  for (const Json& value : *values) {
    const bool is_right =
        value.is_null() ||
        (value.is_number() && CheckNotNegative("", value.get<double>()).ok());
    if (!is_right) {
      reader.Refuse(key, expected);
      return;
    }
    column.push_back(value.is_null()
                         ? std::nullopt
                         : std::optional<double>(value.get<double>()));
  }
}

// Returns the smallest of the sorted values that so large a share is not above.
double Quantile(const std::vector<double>& sorted, double share) {
  const double rank = CeilCount(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

absl::StatusOr<Recording> ParseRecording(const std::string& text,
                                         const std::string& name) {
  const auto json = ParseObject(text, name);
  if (!json.ok()) {
    return json.status();
  }
  ObjectReader reader(*json, name);
  const std::string expected_format = absl::StrCat("\"", kFormat, "\"");
  if (reader.Text("format", expected_format) != kFormat) {
    reader.Refuse("format", expected_format);
  }
  Recording recording;
  constexpr char kPeriod[] = "the seconds between samples, above 0 to 3600";
  recording.period_s = reader.Number("period_seconds", kPeriod, std::nullopt);
  if (recording.period_s == 0 || recording.period_s > kLongestPeriodS) {
    reader.Refuse("period_seconds", kPeriod);
  }
  constexpr char kRatePeriods[] =
      "the periods that a rate is over, a whole number from 1 to 3600";
  const double rate_periods = reader.Number("rate_periods", kRatePeriods, 1);
  if (!(rate_periods >= 1 && rate_periods <= kMostRatePeriods &&
        rate_periods == std::floor(rate_periods))) {
    reader.Refuse("rate_periods", kRatePeriods);
  } else {
    recording.rate_periods = static_cast<size_t>(rate_periods);
  }
  for (const Signal signal : kSignals) {
    Samples column;
    ReadColumn(SignalName(signal), reader, recording.size, column);
    if (!column.empty()) {
      recording.signals[signal] = std::move(column);
    }
  }
  ReadColumn("power_w", reader, recording.size, recording.power_w);
  ReadColumn("requests_per_second", reader, recording.size,
             recording.requests_per_second);
  ReadColumn("requests_under_way", reader, recording.size,
             recording.requests_under_way);
  if (absl::Status status = reader.Finish(); !status.ok()) {
    return status;
  }
  if (recording.signals.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": expected a column of load, busy or another signal, got none"));
  }
  return recording;
}

std::string RecordingJson(const Recording& recording) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson json = {{"format", kFormat},
                      {"period_seconds", recording.period_s}};
  if (recording.rate_periods != 1) {
    json["rate_periods"] = recording.rate_periods;
  }
  const auto add = [&json](const std::string& key, const Samples& samples) {
    for (const std::optional<double>& sample : samples) {
      json[key].push_back(sample.has_value() ? OrderedJson(*sample)
                                             : OrderedJson());
    }
  };
  for (const auto& [signal, samples] : recording.signals) {
    add(SignalName(signal), samples);
  }
  add("power_w", recording.power_w);
  add("requests_per_second", recording.requests_per_second);
  add("requests_under_way", recording.requests_under_way);
  return json.dump() + "\n";
}

std::optional<double> SampleOf(double value) {
  if (value >= 0 && value < kSmallestNumber) {
    return 0;
  }
  return CheckPositive("", value).ok() ? std::optional<double>(value)
                                       : std::nullopt;
}

absl::Status LeaveOutUnknown(Recording& recording, const std::string& name) {
  const auto is_unknown = [](const Samples& samples) {
    return std::none_of(samples.begin(), samples.end(),
                        [](const auto& sample) { return sample.has_value(); });
  };
  for (Samples* column : {&recording.power_w, &recording.requests_per_second,
                          &recording.requests_under_way}) {
    if (is_unknown(*column)) {
      column->clear();
    }
  }
  std::erase_if(recording.signals, [&is_unknown](const auto& signal) {
    return is_unknown(signal.second);
  });
  if (recording.signals.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, ": expected samples of load, busy, sm or memory, got none"));
  }
  return absl::OkStatus();
}

Samples ActiveSamples(const Recording& recording, const Samples& samples) {
  const Samples& requests = recording.requests_per_second;
  if (requests.empty()) {
    return samples;
  }
  Samples active;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (requests[i].has_value() && *requests[i] > 0) {
      active.push_back(samples[i]);
    }
  }
  return active;
}

absl::StatusOr<Summary> Summarize(const Samples& samples,
                                  const std::string& name) {
  std::vector<double> known;
  for (const std::optional<double>& sample : samples) {
    if (sample.has_value()) {
      known.push_back(*sample);
    }
  }
  if (known.size() < kLeastSamples) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is unknown: expected ", kLeastSamples,
                     " samples or more, got ", known.size()));
  }
  const size_t missing = samples.size() - known.size();
  if (static_cast<double>(missing) >
      kMostMissing * static_cast<double>(samples.size())) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        " is unknown: expected 1 % of the samples to be missing at most, "
        "got ",
        missing, " of ", samples.size()));
  }
  std::sort(known.begin(), known.end());
  return Summary{.samples = known.size(),
                 .mean = std::accumulate(known.begin(), known.end(), 0.0) /
                         static_cast<double>(known.size()),
                 .p50 = Quantile(known, 0.5),
                 .p95 = Quantile(known, 0.95),
                 .peak = known.back()};
}

std::optional<HourCounts> CountHours(const Recording& recording) {
  const Samples& all = recording.requests_per_second;
  const double periods = kSecondsPerHour / recording.period_s;
  const auto per_hour = static_cast<size_t>(std::round(periods));
  if (std::abs(periods - std::round(periods)) > kRounding * periods ||
      per_hour < recording.rate_periods || all.size() < per_hour) {
    return std::nullopt;
  }
  HourCounts counts;
  for (size_t from = 0; from + per_hour <= all.size(); from += per_hour) {
    const bool goes_on =
        from == 0 || all[from - 1].value_or(0) > 0;  // from the hour before
    const size_t first = from + (goes_on ? recording.rate_periods - 1 : 0);
    bool came = false;
    bool is_known = true;
    for (size_t i = first; i < from + per_hour; ++i) {
      came = came || all[i].value_or(0) > 0;
      is_known = is_known && all[i].has_value();
    }
    ++counts.all;
    counts.idle += !came && is_known ? 1 : 0;
    counts.unknown += !came && !is_known ? 1 : 0;
  }
  return counts;
}

}  // namespace ferry::plan
