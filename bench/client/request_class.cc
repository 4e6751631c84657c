// Implements ParseRequestClass(), and ClassPicker from numbers to classes.
#include "bench/client/request_class.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"

namespace ferry::bench {
namespace {

constexpr double kLongestMs = 1e9;
constexpr uint64_t kOfCancel = 0x9E3779B97F4A7C15;

// SplitMix64 (Steele, Lea and Flood 2014): bits of one number that look drawn.
uint64_t Mix(uint64_t number) {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

// In [0, 1).
double Uniform(uint64_t number) {
  return static_cast<double>(Mix(number) >> 11) * 0x1p-53;
}

bool ReadDuration(absl::string_view text, Duration& value) {
  double ms = 0;
  if (!ReadNumber(text, 0, kLongestMs, ms)) {
    return false;
  }
  value = Milliseconds(ms);
  return true;
}

bool ReadInteger(absl::string_view text, int32_t low, int32_t& value) {
  return absl::SimpleAtoi(text, &value) && value >= low;
}

// Whether the part was understood.
bool ReadPart(absl::string_view key, absl::string_view value,
              RequestClass& read) {
  if (key == "deadline_ms") {
    return ReadDuration(value, read.deadline);
  }
  if (key == "cancel") {
    return ReadNumber(value, 0, 1, read.cancel_share);
  }
  if (key == "cancel_ms") {
    return ReadDuration(value, read.cancel_after);
  }
  if (key == "model") {
    read.model = std::string(value);
    return !value.empty();
  }
  if (key == "data") {
    read.data = std::string(value);
    return !value.empty();
  }
  if (key == "shape") {  // commas stand between parts, so sizes have an x
    const size_t colon = value.rfind(':');
    if (colon == absl::string_view::npos) {
      return false;
    }
    read.shapes.push_back(
        absl::StrCat(value.substr(0, colon),
                     absl::StrReplaceAll(value.substr(colon), {{"x", ","}})));
    return true;
  }
  return ReadCommonPart(key, value, read);
}

}  // namespace

bool ReadNumber(absl::string_view text, double low, double high,
                double& value) {
  return absl::SimpleAtod(text, &value) && value >= low && value <= high;
}

bool ReadCommonPart(absl::string_view key, absl::string_view value,
                    RequestClass& read) {
  if (key == "weight") {
    return ReadNumber(value, 1e-9, 1e9, read.weight);
  }
  if (key == "rows") {
    return ReadInteger(value, 1, read.rows);
  }
  if (key == "priority") {
    return ReadInteger(value, 0, read.priority);
  }
  return key == "timeout_ms" && ReadDuration(value, read.timeout);
}

absl::StatusOr<std::string> ReadClass(const std::string& text,
                                      absl::string_view keys,
                                      const ReadClassPart& read) {
  const auto refused = [&](absl::string_view wrong) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--class: expected NAME:KEY=VALUE,... with keys ", keys, ", got '",
        wrong, wrong == text ? "'" : absl::StrCat("' in '", text, "'")));
  };
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  // Without a name its first key is before the colon, or there is none.
  if (named.first.empty() ||
      named.first.find_first_of("=,") != absl::string_view::npos) {
    return refused(text);
  }
  for (absl::string_view part :
       absl::StrSplit(named.second, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!read(pair.first, pair.second)) {
      return refused(part);
    }
  }
  return std::string(named.first);
}

absl::StatusOr<RequestClass> ParseRequestClass(const std::string& text,
                                               const RequestClass& defaults) {
  RequestClass read = defaults;
  auto name = ReadClass(
      text,
      "weight, rows, priority, deadline_ms, timeout_ms, cancel, cancel_ms, "
      "model, data and shape=INPUT:SIZExSIZE",
      [&read](absl::string_view key, absl::string_view value) {
        return ReadPart(key, value, read);
      });
  if (!name.ok()) {
    return name.status();
  }
  read.name = *std::move(name);
  return read;
}

ClassPicker::ClassPicker(const std::vector<double>& weights) {
  Check(!weights.empty(), "a mix has a class");
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double upto = 0;
  for (const double weight : weights) {
    Check(weight > 0, "a class has a weight");
    upto += weight / sum;
    upto_.push_back(upto);
  }
  upto_.back() = 1;
}

size_t ClassPicker::ClassOf(uint64_t number) const {
  return static_cast<size_t>(
      std::upper_bound(upto_.begin(), upto_.end(), Uniform(number)) -
      upto_.begin());
}

bool ClassPicker::IsOfShare(uint64_t number, double share) {
  return Uniform(number ^ kOfCancel) < share;
}

}  // namespace ferry::bench
