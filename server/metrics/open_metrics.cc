// Implements ToOpenMetricsText() and PrefersOpenMetrics().
#include "server/metrics/open_metrics.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Returns it as Go writes it, as canonical bounds of buckets are: 1.0, 0.005,
// 1.048576e+06 (OpenMetrics 1.0, "Considerations: Canonical Numbers").
std::string Number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  constexpr double kMostPlain = 1e6;
  std::array<char, 32> text{};
  const auto format = std::abs(value) >= kMostPlain
                          ? std::chars_format::scientific
                          : std::chars_format::general;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, format).ptr;
  std::string number(text.data(), end);
  if (number.find_first_of(".e") == std::string::npos) {
    number += ".0";
  }
  return number;
}

std::string Whole(uint64_t value) { return absl::StrCat(value); }

// A backslash, a quote and the end of a line are escaped, in help and labels.
void AppendEscaped(absl::string_view text, std::string& to) {
  for (const char c : text) {
    if (c == '\n') {
      to += "\\n";
    } else {
      if (c == '\\' || c == '"') {
        to += '\\';
      }
      to += c;
    }
  }
}

// The histogram that exemplars are of.
constexpr char kRequestTime[] = "ferry_request_seconds";

class Writer {
 public:
  explicit Writer(ExemplarsOf exemplars_of) : exemplars_of_(exemplars_of) {}

  void Add(const MetricFamily& family) {
    // A counter of another name would get another one here: its type is told
    // as unknown instead.
    const bool is_counter = family.type == MetricType::Counter &&
                            absl::EndsWith(family.name, "_total");
    name_ = family.name;
    if (is_counter) {
      name_ = std::string(absl::StripSuffix(family.name, "_total"));
    }
    absl::StrAppend(&text_, "# TYPE ", name_, " ",
                    family.type == MetricType::Counter && !is_counter
                        ? "unknown"
                        : TypeName(family.type),
                    "\n# HELP ", name_, " ");
    AppendEscaped(family.help, text_);
    text_ += '\n';
    for (const ClientMetric& metric : family.metric) {
      if (is_counter) {
        Sample("_total", metric, Number(metric.counter.value));
      } else if (family.type == MetricType::Counter) {
        Sample("", metric, Number(metric.counter.value));
      } else if (family.type == MetricType::Histogram) {
        AddHistogram(metric);
      } else {
        Sample("", metric, Number(metric.gauge.value));
      }
    }
  }

  std::string Take() {
    text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  static const char* TypeName(MetricType type) {
    switch (type) {
      case MetricType::Counter:
        return "counter";
      case MetricType::Histogram:
        return "histogram";
      default:
        return "gauge";
    }
  }

  void AddHistogram(const ClientMetric& metric) {
    const ClientMetric::Histogram& histogram = metric.histogram;
    const std::vector<Exemplar> exemplars =
        name_ == kRequestTime ? exemplars_of_(LabelOf(metric, "model"),
                                              LabelOf(metric, "version"))
                              : std::vector<Exemplar>();
    double last_bound = 0;
    uint64_t last_count = 0;
    for (const ClientMetric::Bucket& bucket : histogram.bucket) {
      Sample("_bucket", metric, Whole(bucket.cumulative_count),
             Number(bucket.upper_bound));
      const Exemplar* newest = nullptr;
      for (const Exemplar& one : exemplars) {
        if (one.seconds > last_bound && one.seconds <= bucket.upper_bound &&
            (newest == nullptr || one.ended > newest->ended)) {
          newest = &one;
        }
      }
      if (newest != nullptr && bucket.cumulative_count > last_count) {
        text_.pop_back();  // the line's end
        absl::StrAppend(&text_, " # {trace_id=\"", newest->trace_id, "\"} ",
                        Number(newest->seconds), " ",
                        absl::StrFormat("%.3f", newest->ended), "\n");
      }
      last_bound = bucket.upper_bound;
      last_count = bucket.cumulative_count;
    }
    if (histogram.bucket.empty() || !std::isinf(last_bound)) {
      Sample("_bucket", metric, Whole(histogram.sample_count), "+Inf");
    }
    Sample("_count", metric, Whole(histogram.sample_count));
    Sample("_sum", metric, Number(histogram.sample_sum));
  }

  void Sample(absl::string_view suffix, const ClientMetric& metric,
              absl::string_view value, absl::string_view bound = "") {
    absl::StrAppend(&text_, name_, suffix);
    char before = '{';
    const auto label = [&](absl::string_view name, absl::string_view of) {
      absl::StrAppend(&text_, std::string(1, std::exchange(before, ',')), name,
                      "=\"");
      AppendEscaped(of, text_);
      text_ += '"';
    };
    for (const ClientMetric::Label& one : metric.label) {
      label(one.name, one.value);
    }
    if (!bound.empty()) {
      label("le", bound);
    }
    absl::StrAppend(&text_, before == ',' ? "} " : " ", value, "\n");
  }

  static std::string LabelOf(const ClientMetric& metric, const char* name) {
    for (const ClientMetric::Label& label : metric.label) {
      if (label.name == name) {
        return label.value;
      }
    }
    return "";
  }

  const ExemplarsOf exemplars_of_;
  std::string text_;
  std::string name_;
};

// One of the ranges of an Accept header.
struct MediaRange {
  std::string type;     // lower case
  std::string version;  // "" where it says none
  double weight = 1;    // 0: not this
};

MediaRange ReadRange(absl::string_view text) {
  MediaRange range;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  range.type = absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parameter =
        absl::StrSplit(absl::StripAsciiWhitespace(parts[i]),
                       absl::MaxSplits('=', 1));
    const std::string name = absl::AsciiStrToLower(parameter.first);
    if (name == "version") {
      range.version = std::string(parameter.second);
    } else if (name == "q" &&
               (!absl::SimpleAtod(parameter.second, &range.weight) ||
                !(range.weight >= 0 && range.weight <= 1))) {
      range.weight = 0;
    }
  }
  return range;
}

}  // namespace

bool PrefersOpenMetrics(absl::string_view accept) {
  double open_metrics = 0;
  double text = 0;
  for (const absl::string_view part : absl::StrSplit(accept, ',')) {
    const MediaRange range = ReadRange(part);
    if (range.type == "application/openmetrics-text") {
      if (range.version.empty() || range.version == "1.0.0") {
        open_metrics = std::max(open_metrics, range.weight);
      }
    } else if (range.type == "text/plain" || range.type == "text/*") {
      text = std::max(text, range.weight);
    }
  }
  return open_metrics > 0 && open_metrics >= text;
}

std::string ToOpenMetricsText(const std::vector<MetricFamily>& families,
                              ExemplarsOf exemplars_of) {
  Writer writer(exemplars_of);
  for (const MetricFamily& family : families) {
    writer.Add(family);
  }
  return writer.Take();
}

}  // namespace ferry
