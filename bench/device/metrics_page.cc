// Implements SamplesOf() for lines of `name{label="value",...} number [time]`.
#include "bench/device/metrics_page.h"

#include <httplib.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry::bench {
namespace {

// Takes a value up to its closing quote; \n is a newline, another character
// behind a backslash itself. Returns nothing where it has no end.
std::optional<std::string> TakeQuoted(absl::string_view& text) {
  std::string value;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\' && text.size() > 1) {
      text.remove_prefix(1);
      value.push_back(text.front() == 'n' ? '\n' : text.front());
    } else {
      value.push_back(text.front());
    }
    text.remove_prefix(1);
  }
  return absl::ConsumePrefix(&text, "\"") ? std::optional(std::move(value))
                                          : std::nullopt;
}

// Takes what stands between braces, and the closing one. Returns false where
// that is no list of labels.
bool TakeLabels(absl::string_view& text, MetricSample& sample) {
  while (!absl::ConsumePrefix(&text, "}")) {
    const size_t equals = text.find("=\"");
    if (equals == absl::string_view::npos) {
      return false;
    }
    const std::string label(absl::StripAsciiWhitespace(text.substr(0, equals)));
    text.remove_prefix(equals + 2);
    auto value = TakeQuoted(text);
    if (!value.has_value()) {
      return false;
    }
    sample.labels[label] = *std::move(value);
    absl::ConsumePrefix(&text, ",");
    text = absl::StripLeadingAsciiWhitespace(text);
  }
  return true;
}

std::optional<MetricSample> ParseSample(absl::string_view line) {
  const size_t end = line.find_first_of("{ ");
  if (end == absl::string_view::npos) {
    return std::nullopt;
  }
  MetricSample sample;
  sample.name = line.substr(0, end);
  line.remove_prefix(end);
  if (absl::ConsumePrefix(&line, "{") && !TakeLabels(line, sample)) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> numbers =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (numbers.empty() || !absl::SimpleAtod(numbers[0], &sample.value)) {
    return std::nullopt;
  }
  return sample;
}

}  // namespace

std::string MetricSample::Label(const std::string& label) const {
  const auto found = labels.find(label);
  return found == labels.end() ? "" : found->second;
}

std::vector<MetricSample> SamplesOf(absl::string_view page,
                                    absl::string_view prefix) {
  std::vector<MetricSample> samples;
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, prefix)) {
      continue;
    }
    if (auto sample = ParseSample(line); sample.has_value()) {
      samples.push_back(*std::move(sample));
    }
  }
  return samples;
}

absl::StatusOr<std::string> FetchMetrics(const std::string& address) {
  httplib::Client http(absl::StrCat("http://", address));
  http.set_connection_timeout(1);
  http.set_read_timeout(2);
  httplib::Result page = http.Get("/metrics");
  if (!page) {
    return absl::UnavailableError(
        absl::StrCat("no answer: ", httplib::to_string(page.error())));
  }
  if (page->status != 200) {
    return absl::UnavailableError(
        absl::StrCat("an answer with HTTP code ", page->status));
  }
  return std::move(page->body);
}

}  // namespace ferry::bench
