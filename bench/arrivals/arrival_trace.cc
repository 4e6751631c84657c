// Implements ArrivalTrace and TraceArrivals: lines to times, times to gaps.
#include "bench/arrivals/arrival_trace.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/readable_file.h"

namespace ferry::bench {
namespace {

constexpr size_t kMaxArrivals = 10'000'000;

// What is read so far, and where.
struct Reading {
  const std::string& path;
  int64_t line = 0;
  std::optional<size_t> column = {};  // of times; unset before the first line
  std::vector<double> times_s = {};
};

absl::Status Wrong(const Reading& reading, absl::string_view expected,
                   absl::string_view got) {
  return absl::InvalidArgumentError(
      absl::StrCat(reading.path, ":", reading.line, ": expected ", expected,
                   ", got '", got, "'"));
}

std::optional<double> Number(absl::string_view text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

bool HoldsTimes(absl::string_view heading) {
  heading = absl::StripAsciiWhitespace(heading);
  return absl::EqualsIgnoreCase(heading, "arrival_s") ||
         absl::EqualsIgnoreCase(heading, "timestamp");
}

absl::Status ReadHeader(absl::string_view line, Reading& reading) {
  const std::vector<absl::string_view> headings = absl::StrSplit(line, ',');
  for (size_t i = 0; i < headings.size(); ++i) {
    if (HoldsTimes(headings[i])) {
      reading.column = i;
      return absl::OkStatus();
    }
  }
  return Wrong(reading,
               "a number of seconds, or a header with a column 'arrival_s' or "
               "'timestamp'",
               line);
}

absl::Status ReadTime(absl::string_view line, Reading& reading) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  const absl::string_view cell =
      *reading.column < cells.size() ? cells[*reading.column] : "";
  const std::optional<double> time_s = Number(cell);
  if (!time_s.has_value()) {
    return Wrong(reading, "a number of seconds", cell);
  }
  if (!reading.times_s.empty() && *time_s < reading.times_s.back()) {
    return Wrong(reading,
                 absl::StrFormat("ascending times, %.6f s or later",
                                 reading.times_s.back()),
                 cell);
  }
  if (reading.times_s.size() == kMaxArrivals) {
    return Wrong(reading, absl::StrCat("at most ", kMaxArrivals, " arrivals"),
                 cell);
  }
  reading.times_s.push_back(*time_s);
  return absl::OkStatus();
}

absl::Status ReadLine(absl::string_view line, Reading& reading) {
  ++reading.line;
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) {
    return absl::OkStatus();
  }
  if (!reading.column.has_value()) {
    if (!Number(line).has_value()) {
      return ReadHeader(line, reading);
    }
    reading.column = 0;
  }
  return ReadTime(line, reading);
}

}  // namespace

absl::StatusOr<ArrivalTrace> ArrivalTrace::Read(const std::string& path) {
  auto file = OpenToRead(path);
  if (!file.ok()) {
    return file.status();
  }
  Reading reading{.path = path};
  for (std::string line; std::getline(*file, line);) {
    if (auto status = ReadLine(line, reading); !status.ok()) {
      return status;
    }
  }
  const std::vector<double>& times_s = reading.times_s;
  if (times_s.empty() || times_s.back() == times_s.front()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected two arrivals at different times, got ",
        times_s.size(), " arrivals at ", times_s.empty() ? "none" : "one"));
  }
  return ArrivalTrace(times_s);
}

ArrivalTrace::ArrivalTrace(const std::vector<double>& times_s)
    : rate_(static_cast<double>(times_s.size() - 1) /
            (times_s.back() - times_s.front())) {
  gaps_s_.reserve(times_s.size() - 1);
  for (size_t i = 1; i < times_s.size(); ++i) {
    gaps_s_.push_back(times_s[i] - times_s[i - 1]);
  }
}

TraceArrivals::TraceArrivals(std::shared_ptr<const ArrivalTrace> trace,
                             double per_second)
    : trace_(std::move(trace)),
      mean_gap_ns_(1e9 / per_second),
      stretch_ns_(1e9 * trace_->rate() / per_second) {
  Check(per_second > 0, "an arrival rate is positive");
}

double TraceArrivals::DrawGapNs() {
  const size_t i = next_;
  next_ = i == trace_->gaps_s().size() ? 0 : i + 1;
  return i == 0 ? mean_gap_ns_ : trace_->gaps_s()[i - 1] * stretch_ns_;
}

}  // namespace ferry::bench
