// The best of each run, then the best of those.
#include "bench/report/verdict.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report/frontier.h"
#include "bench/report/number_text.h"
#include "bench/report/report_table.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr double kUsualLoad = 0.7;
constexpr double kAlike = 0.03;  // of rates that measure no difference

using Runs = std::vector<const RunResult*>;

// What a run carries. Of two runs it compares where `kind` is the same.
struct Best {
  const RunResult* run = nullptr;
  std::string kind = {};  // "saturation", "offline"; empty: nothing
  double rate = 0;        // in `unit`; 0: none keeps the bound
  const char* unit = "requests/s";
  std::string verb = {};      // "carries"
  std::string bound = {};     // " with p99 within 50 ms (search)"
  std::string addition = {};  // "; at 70 % load ..."
};

std::string BoundInWords(double percentile, double slo_ms) {
  return absl::StrFormat("p%g within %g ms", percentile, slo_ms);
}

// Returns the open point that stands whose offered rate is nearest to a share
// of 0.7 of `rate`, not further than half a share off; null without one.
const PointResult* NearUsualLoad(const RunResult& run, double rate) {
  const PointResult* nearest = nullptr;
  const auto off = [rate](const PointResult& point) {
    return std::abs(point.offered_rate / rate - kUsualLoad);
  };
  for (const PointResult& point : run.points) {
    if (point.loop == "open" && Stands(point) && off(point) < 0.5 &&
        (nearest == nullptr || off(point) < off(*nearest))) {
      nearest = &point;
    }
  }
  return nearest;
}

std::string LatencyInWords(const PointResult& point) {
  return absl::StrCat("p50 is ", MsInWords(point.latency.p50_us), " and p99 ",
                      MsInWords(point.latency.p99_us));
}

Best OfSearch(const RunResult& run) {
  const SearchSummary& search = *run.search;
  const std::string bound = BoundInWords(search.percentile, search.slo_ms);
  Best best = {.run = &run,
               .kind = bound + ", searched",
               .rate = search.found_rate.value_or(0),
               .verb = "carries",
               .bound = absl::StrCat(" with ", bound, " (search)")};
  if (run.saturation_rate > 0 && best.rate > 0) {
    best.addition = absl::StrFormat(", %.0f %% of its saturation",
                                    best.rate / run.saturation_rate * 100);
  }
  return best;
}

Best OfBound(const RunResult& run, double slo_ms) {
  const std::string bound = BoundInWords(99, slo_ms);
  const auto place = Chosen({run}, slo_ms);
  return {.run = &run,
          .kind = bound,
          .rate = place ? run.points[place->point].achieved_rate : 0,
          .verb = "carries at least",
          .bound = " with " + bound};
}

Best OfSaturation(const RunResult& run, double rate) {
  Best best = {
      .run = &run, .kind = "saturation", .rate = rate, .verb = "saturates at"};
  if (const PointResult* const usual = NearUsualLoad(run, rate)) {
    best.addition = absl::StrFormat("; at %.0f %% load %s",
                                    usual->offered_rate / rate * 100,
                                    LatencyInWords(*usual));
  }
  return best;
}

Best OfOpenLoop(const RunResult& run) {
  const PointResult* highest = nullptr;
  for (const PointResult& point : run.points) {
    if (Stands(point) &&
        (highest == nullptr || point.achieved_rate > highest->achieved_rate)) {
      highest = &point;
    }
  }
  if (highest == nullptr) {
    return {.run = &run};
  }
  return {.run = &run,
          .kind = "open loops",
          .rate = highest->achieved_rate,
          .verb = "served",
          .addition = absl::StrCat(", the most that was tried: ",
                                   LatencyInWords(*highest))};
}

// Of the queries that were answered to their end, the fastest.
Best OfOffline(const RunResult& run) {
  const PointResult* fastest = nullptr;
  for (const PointResult& point : run.points) {
    if (point.loop == "offline" && point.void_reason.empty() &&
        !point.interrupted && point.ok > 0 && point.rows_rate.value_or(0) > 0 &&
        (fastest == nullptr || *point.rows_rate > *fastest->rows_rate)) {
      fastest = &point;
    }
  }
  if (fastest == nullptr) {
    return {.run = &run};
  }
  return {.run = &run,
          .kind = "offline",
          .rate = *fastest->rows_rate,
          .unit = "rows/s",
          .verb = "answered",
          .bound = " of one query (offline)"};
}

Best BestOf(const RunResult& run, const std::optional<double>& slo_ms) {
  const bool is_open = std::any_of(
      run.points.begin(), run.points.end(),
      [](const PointResult& point) { return point.loop == "open"; });
  if (run.search.has_value() &&
      (!slo_ms.has_value() || *slo_ms == run.search->slo_ms)) {
    return OfSearch(run);
  }
  if (std::none_of(run.points.begin(), run.points.end(), Stands)) {
    return OfOffline(run);
  }
  if (slo_ms.has_value() && is_open) {
    return OfBound(run, *slo_ms);
  }
  const auto saturation = SaturationOf(run);
  return saturation ? OfSaturation(run, saturation->rate) : OfOpenLoop(run);
}

// Why a run says nothing.
std::string WhyNothing(const Runs& runs) {
  size_t points = 0;
  uint64_t ok = 0;
  std::string void_reason;
  for (const RunResult* run : runs) {
    points += run->points.size();
    for (const PointResult& point : run->points) {
      ok += point.ok;
      void_reason = point.void_reason.empty() ? void_reason : point.void_reason;
    }
  }
  if (points == 0) {
    return "no load was measured";
  }
  if (ok == 0) {
    return "no request succeeded";
  }
  return void_reason.empty()
             ? "no load was measured to its end"
             : absl::StrCat("no point stands, the last is void: ", void_reason);
}

std::string Prefix(const Runs& runs) {
  const bool is_simulated =
      std::any_of(runs.begin(), runs.end(),
                  [](const RunResult* run) { return run->is_simulated; });
  return is_simulated ? "On a simulated device: " : "";
}

std::string OneRun(const Best& best) {
  if (best.rate == 0) {
    return best.kind == "saturation" || best.bound.empty()
               ? "nothing can be said"
               : absl::StrCat("at no load that was tried does ",
                              best.run->model, " keep", best.bound.substr(5));
  }
  if (best.run->points.size() == 1 && !best.run->search.has_value() &&
      best.kind != "offline") {
    const PointResult& point = best.run->points[0];
    return absl::StrCat("one load only (", DescribeLoad(point),
                        "): ", best.run->model, " served ",
                        RateInWords(point.achieved_rate), " requests/s, ",
                        LatencyInWords(point));
  }
  return absl::StrCat(best.run->model, " ", best.verb, " ",
                      RateInWords(best.rate), " ", best.unit, best.bound,
                      best.addition);
}

// How the best of several compares: with the other of two, or the first.
std::string Comparison(const Best& best, const std::vector<Best>& all) {
  const Best* other = &all[0];
  if (other == &best) {
    other = all.size() == 2 ? &all[1] : nullptr;
  }
  std::string text = absl::StrCat(" with '", best.run->label, "'");
  if (all.size() > 2) {
    absl::StrAppend(&text, ", the most of ", all.size(), " runs");
  }
  if (other == nullptr) {
    return text;
  }
  const std::string name = absl::StrCat("'", other->run->label, "'");
  if (other->rate == 0) {
    return absl::StrCat(text, "; no load that was tried shows as much of ",
                        name);
  }
  const double ratio = best.rate / other->rate;
  if (ratio < 1 + kAlike) {
    return absl::StrCat(text, ", about as much as ", name, " (",
                        RateInWords(other->rate), ")");
  }
  return absl::StrFormat("%s, %.*f times the %s of %s", text,
                         ratio < 10 ? 2 : 1, ratio, RateInWords(other->rate),
                         name);
}

std::string SeveralRuns(const std::vector<Best>& all) {
  for (const Best& best : all) {
    if (best.kind != all[0].kind) {
      return absl::StrCat("the runs of ", best.run->model,
                          " measured different things (", all[0].kind, " and ",
                          best.kind, ") and are not compared");
    }
  }
  const Best& best = *std::max_element(
      all.begin(), all.end(),
      [](const auto& a, const auto& b) { return a.rate < b.rate; });
  if (best.rate == 0) {
    return OneRun(best);
  }
  return absl::StrCat(best.run->model, " ", best.verb, " ",
                      RateInWords(best.rate), " ", best.unit, best.bound,
                      Comparison(best, all), best.addition);
}

std::string OfModel(const Runs& runs, const std::optional<double>& slo_ms) {
  std::vector<Best> all;
  for (const RunResult* run : runs) {
    if (Best best = BestOf(*run, slo_ms); !best.kind.empty()) {
      all.push_back(best);
    }
  }
  std::string sentence =
      all.empty() ? absl::StrCat("nothing can be said of ", runs[0]->model,
                                 ": ", WhyNothing(runs))
      : all.size() == 1 ? OneRun(all[0])
                        : SeveralRuns(all);
  const std::string prefix = Prefix(runs);
  // A model's name keeps its case.
  if (prefix.empty() && !absl::StartsWith(sentence, runs[0]->model)) {
    sentence[0] = absl::ascii_toupper(static_cast<unsigned char>(sentence[0]));
  }
  return absl::StrCat(prefix, sentence, ".");
}

}  // namespace

std::vector<std::string> Verdicts(const std::vector<RunResult>& runs,
                                  const std::optional<double>& slo_ms) {
  std::vector<Runs> models;
  for (const RunResult& run : runs) {
    const auto found =
        std::find_if(models.begin(), models.end(),
                     [&](const Runs& of) { return of[0]->model == run.model; });
    if (found == models.end()) {
      models.push_back({&run});
    } else {
      found->push_back(&run);
    }
  }
  std::vector<std::string> sentences;
  for (const Runs& of : models) {
    sentences.push_back(OfModel(of, slo_ms));
  }
  return sentences;
}

}  // namespace ferry::bench
