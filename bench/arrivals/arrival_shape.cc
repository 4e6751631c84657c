// Implements ParseArrivals(): one function parses each form of --arrivals.
#include "bench/arrivals/arrival_shape.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/arrivals/arrival_trace.h"
#include "bench/arrivals/burst_arrivals.h"
#include "bench/arrivals/on_off_arrivals.h"
#include "bench/arrivals/renewal_arrivals.h"

namespace ferry::bench {
namespace {

constexpr double kShortestStayMs = 0.1;
constexpr double kLongestStayMs = 1e8;

absl::Status Wrong(absl::string_view expected, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("--arrivals: expected ", expected, ", got '", text, "'"));
}

// Returns the numbers between commas; none where one is not a number.
std::vector<double> Numbers(absl::string_view text) {
  std::vector<double> numbers;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtod(part, &numbers.emplace_back())) {
      return {};
    }
  }
  return numbers;
}

// False for NaN too.
bool IsWithin(double number, double least, double most) {
  return number >= least && number <= most;
}

ArrivalShape ConstantShape() {
  return {.name = "constant", .make = [](double per_second, uint64_t) {
            return std::make_unique<ConstantArrivals>(per_second);
          }};
}

absl::StatusOr<ArrivalShape> ParseGamma(const std::string& text,
                                        absl::string_view parameters) {
  const std::vector<double> given = Numbers(parameters);
  if (given.size() != 1 || !IsWithin(given[0], 0.01, 100)) {
    return Wrong("gamma:CV with CV from 0.01 to 100", text);
  }
  return ArrivalShape{
      .name = text, .make = [cv = given[0]](double per_second, uint64_t seed) {
        return std::make_unique<GammaArrivals>(per_second, cv, seed);
      }};
}

absl::StatusOr<ArrivalShape> ParseBursts(const std::string& text,
                                         absl::string_view parameters) {
  const std::vector<double> given = Numbers(parameters);
  if (given.size() != 1 || !IsWithin(given[0], 1, 1e6)) {
    return Wrong("bursts:MEAN with MEAN from 1 to 1e6", text);
  }
  return ArrivalShape{
      .name = text,
      .make = [mean = given[0]](double per_second, uint64_t seed) {
        return std::make_unique<BurstArrivals>(per_second, mean, seed);
      }};
}

absl::StatusOr<ArrivalShape> ParseOnOff(const std::string& text,
                                        absl::string_view parameters) {
  std::vector<double> given = Numbers(parameters);
  if (given.size() == 2) {
    given.push_back(0);
  }
  if (given.size() != 3 ||
      !IsWithin(given[0], kShortestStayMs, kLongestStayMs) ||
      !IsWithin(given[1], kShortestStayMs, kLongestStayMs) ||
      !IsWithin(given[2], 0, 1)) {
    return Wrong(
        "onoff:ON_MS,OFF_MS[,SHARE] with both times from 0.1 to 1e8 ms and "
        "SHARE from 0 to 1",
        text);
  }
  const OnOff on_off{.mean_on = Milliseconds(given[0]),
                     .mean_off = Milliseconds(given[1]),
                     .off_share = given[2]};
  return ArrivalShape{
      .name = text, .make = [on_off](double per_second, uint64_t seed) {
        return std::make_unique<OnOffArrivals>(per_second, on_off, seed);
      }};
}

absl::StatusOr<ArrivalShape> ParseTrace(const std::string& text,
                                        absl::string_view parameters) {
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(parameters), ',');
  double scale = 1;
  if (parts[0].empty() || parts.size() > 2 ||
      (parts.size() == 2 && !absl::SimpleAtod(parts[1], &scale)) ||
      !IsWithin(scale, 1e-6, 1e6)) {
    return Wrong("trace:FILE[,SCALE] with SCALE from 1e-6 to 1e6", text);
  }
  auto read = ArrivalTrace::Read(parts[0]);
  if (!read.ok()) {
    return read.status();
  }
  const auto trace = std::make_shared<const ArrivalTrace>(*std::move(read));
  return ArrivalShape{
      .name = absl::StrCat(
          "trace:", std::filesystem::path(parts[0]).filename().string(),
          parts.size() == 2 ? "," + parts[1] : ""),
      .own_rate = trace->rate() * scale,
      .has_scale = parts.size() == 2,
      .trace_arrivals = static_cast<double>(trace->gaps_s().size() + 1),
      .make = [trace](double per_second, uint64_t) {
        return std::make_unique<TraceArrivals>(trace, per_second);
      }};
}

}  // namespace

ArrivalShape PoissonShape() {
  return {.name = "poisson", .make = [](double per_second, uint64_t seed) {
            return std::make_unique<PoissonArrivals>(per_second, seed);
          }};
}

absl::StatusOr<ArrivalShape> ParseArrivals(const std::string& text) {
  if (text == "poisson") {
    return PoissonShape();
  }
  if (text == "constant") {
    return ConstantShape();
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "gamma") {
    return ParseGamma(text, parts.second);
  }
  if (parts.first == "bursts") {
    return ParseBursts(text, parts.second);
  }
  if (parts.first == "onoff") {
    return ParseOnOff(text, parts.second);
  }
  if (parts.first == "trace") {
    return ParseTrace(text, parts.second);
  }
  return Wrong(kArrivalForms, text);
}

}  // namespace ferry::bench
