// Implements CompareRuns(): a method per load, an estimate per metric, a
// verdict.
#include "bench/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/compare/counting_error.h"
#include "bench/compare/found_rate.h"
#include "bench/compare/load_match.h"
#include "bench/compare/point_metrics.h"
#include "bench/report/goodput.h"

namespace ferry::bench {
namespace {

constexpr size_t kFewRepeats = 5;
constexpr double kManyTimes = 3;

// Values of the points of a load that have the metric; logarithms of ratios.
struct Values {
  std::vector<double> a;
  std::vector<double> b;
  size_t without = 0;  // points that have not
};

Values ValuesOf(const LoadMatch& match, const MetricKind& kind) {
  Values values;
  const auto collect = [&](const std::vector<MeasuredPoint>& points,
                           std::vector<double>& side) {
    for (const MeasuredPoint& measured : points) {
      const auto value = kind.value(*measured.point);
      if (value.has_value()) {
        side.push_back(kind.is_ratio ? std::log(*value) : *value);
      } else {
        ++values.without;
      }
    }
  };
  collect(match.a, values.a);
  collect(match.b, values.b);
  return values;
}

// Not a number where there are none.
double CenterOf(const std::vector<double>& values, bool is_ratio) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                      static_cast<double>(values.size());
  return is_ratio ? std::exp(mean) : mean;
}

// By how the values vary. REQUIRES: each point has one.
std::optional<Estimate> EstimateFor(const LoadMatch& match, Method method,
                                    const MetricKind& kind,
                                    const Values& values) {
  if (method == Method::kPairs) {
    return EstimatePaired(values.a, values.b);
  }
  if (method == Method::kRepeats) {
    return EstimateUnpaired(values.a, values.b);
  }
  const auto a = kind.by_slices(*match.a.front().point);
  const auto b = kind.by_slices(*match.b.front().point);
  return a.has_value() && b.has_value() ? std::optional(EstimateOf(*a, *b))
                                        : std::nullopt;
}

Method MethodFor(const LoadMatch& match) {
  if (match.is_paired && match.a.size() > 1) {
    return Method::kPairs;
  }
  if (match.a.size() + match.b.size() > 2) {
    return Method::kRepeats;
  }
  return match.by == MatchedBy::kLoad ? Method::kSlices : Method::kPrecision;
}

// Whether all runs told their goodput, within the same time.
bool HaveOneBound(const LoadMatch& match) {
  const std::optional<double>& slo_ms = match.a.front().run->slo_ms;
  const auto has_it = [&](const MeasuredPoint& measured) {
    return measured.run->slo_ms == slo_ms;
  };
  return slo_ms.has_value() &&
         std::all_of(match.a.begin(), match.a.end(), has_it) &&
         std::all_of(match.b.begin(), match.b.end(), has_it);
}

LoadComparison CompareLoad(const LoadMatch& match) {
  LoadComparison load{.load = match.load,
                      .method = MethodFor(match),
                      .runs_a = match.a.size(),
                      .runs_b = match.b.size()};
  if (match.by != MatchedBy::kLoad) {
    load.metrics.push_back(CompareFoundRates(match));
    return load;
  }
  for (const MetricKind& kind : MetricKinds()) {
    if (kind.is_of_bound && !HaveOneBound(match)) {
      continue;
    }
    const Values values = ValuesOf(match, kind);
    const bool is_judged = !kind.is_of_bound || load.method != Method::kSlices;
    if (values.a.empty() && values.b.empty()) {
      continue;
    }
    Metric metric{.name = kind.name,
                  .unit = kind.unit,
                  .is_ratio = kind.is_ratio,
                  .better = is_judged ? kind.better : 0,
                  .a = CenterOf(values.a, kind.is_ratio),
                  .b = CenterOf(values.b, kind.is_ratio),
                  .without = values.without};
    if (values.without == 0) {
      metric.estimate = EstimateFor(match, load.method, kind, values);
    }
    if (metric.estimate.has_value()) {
      metric.estimate = WithError(
          *metric.estimate, WithCounting(match, kind, metric.estimate->error));
    }
    load.metrics.push_back(std::move(metric));
  }
  return load;
}

// No failure on either side is no test that could have failed.
bool IsTest(const Metric& metric) {
  return metric.estimate.has_value() && (metric.a != 0 || metric.b != 0);
}

void Judge(Comparison& comparison) {
  std::vector<Metric*> tested;
  std::vector<double> p_values;
  for (LoadComparison& load : comparison.loads) {
    for (Metric& metric : load.metrics) {
      if (IsTest(metric)) {
        tested.push_back(&metric);
        p_values.push_back(metric.estimate->p_value);
      } else if (metric.estimate.has_value()) {
        metric.verdict = Verdict::kSame;
      }
    }
  }
  const std::vector<bool> stand = Holm(p_values, kChance);
  for (size_t i = 0; i < tested.size(); ++i) {
    tested[i]->verdict = stand[i]                 ? Verdict::kDiffers
                         : p_values[i] <= kChance ? Verdict::kByChance
                                                  : Verdict::kSame;
  }
  comparison.tests = tested.size();
}

std::string NameOf(const std::vector<RunResult>& runs) {
  if (runs.empty()) {
    return "";
  }
  const bool is_one = std::all_of(
      runs.begin(), runs.end(),
      [&](const RunResult& run) { return run.label == runs.front().label; });
  return is_one ? runs.front().label : absl::StrCat(runs.size(), " runs");
}

// What a search found may be its client's limit.
void AddCeilings(const LoadMatches& matches, Comparison& comparison) {
  for (const LoadMatch& match : matches.loads) {
    if (match.by == MatchedBy::kLoad) {
      continue;
    }
    for (const auto& [side, searches] :
         {std::pair{"A", &match.a}, std::pair{"B", &match.b}}) {
      const double ceiling = ClientCeiling(*searches);
      if (ceiling > 0) {
        comparison.notes.push_back(absl::StrFormat(
            "%s: the client of %s could not send %.0f/s on time: its server "
            "may do more",
            match.load, side, ceiling));
      }
    }
  }
}

void AddNotes(Comparison& comparison) {
  if (!comparison.unsteady.empty()) {
    comparison.notes.push_back(
        "what is unsteady has the latencies of its window's length: a longer "
        "one may differ from it by as much as A does from B");
  }
  const auto any = [&](const auto& is) {
    return std::any_of(comparison.loads.begin(), comparison.loads.end(), is);
  };
  if (any([](const auto& load) { return load.method == Method::kSlices; })) {
    comparison.notes.push_back(
        "one run each tells how requests vary within a run, not how two "
        "moments of a machine differ: two runs of the same may differ by more. "
        "Measure repeats in turn: ferry-bench run --repeat 5 --against "
        "HOST:PORT");
  }
  if (any([](const auto& load) { return load.method == Method::kPrecision; })) {
    comparison.notes.push_back(
        "one search each tells how finely it searched, not how two moments of "
        "a machine differ: two searches of the same may differ by more");
  }
  if (any([](const auto& load) { return load.method == Method::kRepeats; })) {
    comparison.notes.push_back(
        "repeats that were not run in turn, each of A next to one of B: a "
        "machine that changed in between looks like a difference");
  }
  if (any([](const auto& load) {
        return load.runs_a + load.runs_b > 2 &&
               std::min(load.runs_a, load.runs_b) < kFewRepeats;
      })) {
    comparison.notes.push_back(absl::StrFormat(
        "fewer than %d repeats give wide intervals", kFewRepeats));
  }
  if (any([](const auto& load) {
        return std::any_of(
            load.metrics.begin(), load.metrics.end(), [](const Metric& metric) {
              return !metric.estimate.has_value() && metric.without == 0;
            });
      })) {
    comparison.notes.push_back(
        "interval unknown: too few requests or runs to say how it varies, and "
        "whether it is a difference");
  }
  if (comparison.tests > 1) {
    comparison.notes.push_back(absl::StrFormat(
        "of %d comparisons some differ by chance: a difference stands where it "
        "does among all of them (Holm, 5 %%)",
        comparison.tests));
  }
}

std::string BoundInWords(const std::optional<double>& slo_ms) {
  return slo_ms ? absl::StrFormat("within %g ms", *slo_ms)
                : "within several bounds";
}

void NoteGoodput(const std::vector<RunResult>& a,
                 const std::vector<RunResult>& b, Comparison& comparison) {
  const auto of_a = GoodputSloMs(a);
  const auto of_b = GoodputSloMs(b);
  if (HasGoodput(a) && HasGoodput(b) && of_a != of_b) {
    comparison.notes.push_back(
        absl::StrFormat("goodput is not compared: %s in A, %s in B",
                        BoundInWords(of_a), BoundInWords(of_b)));
  }
}

// The worst that the interval leaves B with, in percent of A; of errors in
// percentage points.
double WorseByAtLeast(const Metric& metric) {
  if (!metric.is_ratio) {
    return 100 * metric.low();
  }
  return 100 * (metric.better > 0 ? 1 - metric.high() : metric.low() - 1);
}

}  // namespace

double Metric::low() const {
  return is_ratio ? std::exp(estimate->low) : estimate->low;
}

double Metric::high() const {
  return is_ratio ? std::exp(estimate->high) : estimate->high;
}

namespace {

bool IsHigher(const Metric& metric) { return metric.b > metric.a; }

// Whether "26 times" says more than "2,500 % higher".
bool IsInTimes(const Metric& metric) {
  return metric.is_ratio && metric.b > kManyTimes * metric.a;
}

// Returns "B's p99 is 12.1 % lower". REQUIRES: A and B have a value.
std::string HowFar(const Metric& metric) {
  const double sign = IsHigher(metric) ? 100 : -100;
  const char* const which = IsHigher(metric) ? "higher" : "lower";
  if (!metric.is_ratio) {
    return absl::StrFormat("B's errors are %.2f points %s",
                           sign * (metric.b - metric.a), which);
  }
  const std::string what = absl::StrCat(
      "B's ", metric.name, metric.name == "rows" ? " a batch are" : " is");
  const double ratio = metric.b / metric.a;
  return IsInTimes(metric) ? absl::StrFormat("%s %.*f times A's", what,
                                             ratio < 10 ? 1 : 0, ratio)
                           : absl::StrFormat("%s %.1f %% %s", what,
                                             sign * (ratio - 1), which);
}

// REQUIRES: there is an estimate.
std::string IntervalInWords(const Metric& metric) {
  const double sign = IsHigher(metric) ? 100 : -100;
  const double near = IsHigher(metric) ? metric.low() : metric.high();
  const double far = IsHigher(metric) ? metric.high() : metric.low();
  if (!metric.is_ratio) {
    return absl::StrFormat("%.2f to %.2f", sign * near, sign * far);
  }
  return IsInTimes(metric)
             ? absl::StrFormat("%.1f to %.1f", near, far)
             : absl::StrFormat("%.1f to %.1f %%", sign * (near - 1),
                               sign * (far - 1));
}

std::string UnknownText(const Metric& metric) {
  if (metric.without > 0) {
    return absl::StrFormat("not known: %d %s no value of it", metric.without,
                           metric.without == 1 ? "run has" : "runs have");
  }
  return absl::StrCat(
      metric.a == metric.b ? "A and B are the same" : HowFar(metric),
      " (interval unknown)");
}

}  // namespace

Comparison CompareRuns(const std::vector<RunResult>& a,
                       const std::vector<RunResult>& b) {
  LoadMatches matches = MatchLoads(a, b);
  Comparison comparison;
  comparison.name_a = NameOf(a);
  comparison.name_b = NameOf(b);
  comparison.warnings = std::move(matches.warnings);
  comparison.unsteady = std::move(matches.unsteady);
  comparison.left_out = std::move(matches.left_out);
  comparison.unmatched = std::move(matches.unmatched);
  for (const LoadMatch& match : matches.loads) {
    comparison.loads.push_back(CompareLoad(match));
  }
  Judge(comparison);
  AddCeilings(matches, comparison);
  AddNotes(comparison);
  NoteGoodput(a, b, comparison);
  return comparison;
}

std::string VerdictText(const Metric& metric) {
  switch (metric.verdict) {
    case Verdict::kUnknown:
      return UnknownText(metric);
    case Verdict::kSame:
      return "no difference that these runs can show";
    case Verdict::kByChance:
      return "no difference beyond chance among so many comparisons";
    case Verdict::kDiffers:
      break;
  }
  return absl::StrCat(HowFar(metric), " (", IntervalInWords(metric), ")");
}

std::vector<std::string> WorseThan(const Comparison& comparison,
                                   double percent) {
  std::vector<std::string> worse;
  for (const std::string& unmatched : comparison.unmatched) {
    worse.push_back(absl::StrCat("not judged: ", unmatched));
  }
  if (comparison.loads.empty()) {
    worse.push_back("not judged: A and B have no load in common");
  }
  for (const LoadComparison& load : comparison.loads) {
    for (const Metric& metric : load.metrics) {
      if (metric.better == 0) {
        continue;
      }
      if (!metric.estimate.has_value()) {
        worse.push_back(absl::StrFormat("not judged: %s: %s: %s", load.load,
                                        metric.name, VerdictText(metric)));
      } else if (metric.verdict == Verdict::kDiffers &&
                 WorseByAtLeast(metric) > percent) {
        worse.push_back(
            absl::StrFormat("%s: %s", load.load, VerdictText(metric)));
      }
    }
  }
  return worse;
}

}  // namespace ferry::bench
