// Implements Verdicts(): the best of each run, then the best of those.
#include "bench/report/verdict.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/load/batch_means.h"
#include "bench/report/frontier.h"
#include "bench/report/number_text.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_table.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr double kUsualLoad = 0.7;
constexpr double kAlike = 0.03;  // of rates that measure no difference

using Runs = std::vector<const RunResult*>;

// What a run carries. It compares for two runs where `kind` is the same.
struct Best {
  const RunResult* run = nullptr;
  std::string kind = {};  // "saturation", "offline"; empty: nothing
  double rate = 0;        // in `unit`; 0: none keeps the bound
  const char* unit = "requests/s";
  std::string verb = {};      // "carries"
  std::string bound = {};     // " with p99 within 50 ms (search)"
  std::string addition = {};  // "; at 70 % load ..."
  std::string none = {};      // what there is to say where the rate is 0
  // No higher load was put: it may carry more, which no ratio tells.
  bool is_most_tried = false;
};

std::string BoundInWords(const SearchSummary& search) {
  return absl::StrFormat(
      "p%g within %g ms%s", search.percentile, search.slo_ms,
      search.success > 0
          ? absl::StrFormat(" and %g %% successes", search.success)
          : "");
}

// Returns the open point that is carried whose offered rate is nearest to a
// share of 0.7 of `rate`, not further than half a share off; null without one.
const PointResult* NearUsualLoad(const RunResult& run, double rate) {
  const PointResult* nearest = nullptr;
  const auto off = [rate](const PointResult& point) {
    return std::abs(point.offered_rate / rate - kUsualLoad);
  };
  for (const PointResult& point : run.points) {
    if (point.loop == "open" && Carries(point) && off(point) < 0.5 &&
        (nearest == nullptr || off(point) < off(*nearest))) {
      nearest = &point;
    }
  }
  return nearest;
}

// Percentiles as far as there are enough requests for them.
std::string LatencyInWords(const PointResult& point) {
  if (point.ok < SamplesFor(0.5)) {
    return absl::StrFormat("%d %s too few for percentiles", point.ok,
                           point.ok == 1 ? "success is" : "successes are");
  }
  const std::string p50 =
      absl::StrCat("p50 is ", MsInWords(point.latency.p50_us));
  return point.ok < SamplesFor(0.99)
             ? absl::StrFormat("%s (%d successes are too few for p99)", p50,
                               point.ok)
             : absl::StrCat(p50, " and p99 ", MsInWords(point.latency.p99_us));
}

// Why a load is not carried, behind its name.
std::string MissInWords(const PointResult& point) {
  const std::string why = WhyNotCarried(point);
  return absl::StartsWith(why, "unsteady") ? absl::StrCat("it was ", why) : why;
}

std::string LoadInWords(const PointResult& point) {
  return point.loop == "closed"
             ? absl::StrCat("with ", point.outstanding, " outstanding")
             : absl::StrCat("at ", RateInWords(point.target_rate), "/s");
}

Best OfSearch(const RunResult& run) {
  const SearchSummary& search = *run.search;
  const std::string bound = BoundInWords(search);
  Best best = {.run = &run,
               .kind = bound + ", searched",
               .rate = search.found_rate.value_or(0),
               .verb = "carries",
               .bound = absl::StrCat(" with ", bound, " (search)")};
  if (const auto unconfirmed = UnconfirmedRate(run)) {
    best.none = absl::StrFormat(
        "%s kept %s at %s/s in a try, and no rate was confirmed", run.model,
        bound, RateInWords(*unconfirmed));
  }
  if (run.saturation_rate > 0 && best.rate > 0 &&
      DoubtOfSaturation(run).empty()) {
    best.addition = absl::StrFormat(", %.0f %% of its saturation",
                                    best.rate / run.saturation_rate * 100);
  }
  return best;
}

Best OfBound(const RunResult& run, double slo_ms) {
  const std::string bound = BoundInWords({.slo_ms = slo_ms, .percentile = 99});
  Best best = {.run = &run,
               .kind = bound,
               .verb = "carries at least",
               .bound = " with " + bound};
  if (const auto place = Chosen({run}, slo_ms)) {
    const PointResult& point = run.points[place->point];
    best.rate = point.achieved_rate;
    best.is_most_tried = std::none_of(
        run.points.begin(), run.points.end(), [&](const PointResult& other) {
          return other.loop == "open" && other.target_rate > point.target_rate;
        });
    if (point.ok < SamplesFor(0.99)) {
      best.addition = absl::StrFormat(
          "; %d successes are too few to be sure of p99", point.ok);
    }
  }
  return best;
}

Best OfSaturation(const RunResult& run, double rate) {
  Best best = {
      .run = &run, .kind = "saturation", .rate = rate, .verb = "saturates at"};
  const PointResult* const point = ClosedLoopOf(run, rate);
  if (const std::string doubt =
          point == nullptr ? "" : DoubtOfClosedLoop(*point);
      !doubt.empty()) {
    best.bound = absl::StrCat(" (", doubt, ")");
  }
  if (const PointResult* const usual = NearUsualLoad(run, rate)) {
    best.addition = absl::StrFormat("; at %.0f %% load %s",
                                    usual->offered_rate / rate * 100,
                                    LatencyInWords(*usual));
  }
  return best;
}

// Requests/s; of a closed loop those that came of it.
double RateOfLoad(const PointResult& point) {
  return point.loop == "open" ? point.target_rate : point.offered_rate;
}

// Returns the loads at `rate` or above that were put and not carried, or not
// put to their end, the lowest first.
std::vector<const PointResult*> NotCarriedFrom(const RunResult& run,
                                               double rate) {
  std::vector<const PointResult*> points;
  for (const PointResult& point : run.points) {
    if (point.loop != "offline" && !IsTry(point) && !Carries(point) &&
        RateOfLoad(point) >= rate) {
      points.push_back(&point);
    }
  }
  std::stable_sort(points.begin(), points.end(), [](auto* a, auto* b) {
    return RateOfLoad(*a) < RateOfLoad(*b);
  });
  return points;
}

// Returns what the first of them shows of the server: "at 600/s 38.4 % failed";
// "" where none does, as none was put to its end without being void.
std::string WhatWasMissed(const std::vector<const PointResult*>& points) {
  for (const PointResult* point : points) {
    if (point->void_reason.empty() && !point->interrupted) {
      return absl::StrCat(LoadInWords(*point), " ", MissInWords(*point));
    }
  }
  return "";
}

// The highest load that was carried, and what came of the next that was not.
Best OfOpenLoop(const RunResult& run) {
  Best best = {.run = &run, .kind = "open loops", .verb = "served"};
  const PointResult* highest = nullptr;
  for (const PointResult& point : run.points) {
    if (Carries(point) &&
        (highest == nullptr || point.achieved_rate > highest->achieved_rate)) {
      highest = &point;
    }
  }
  const std::vector<const PointResult*> others =
      NotCarriedFrom(run, highest != nullptr ? RateOfLoad(*highest) : 0);
  const std::string missed = WhatWasMissed(others);
  if (highest == nullptr) {
    best.none = absl::StrFormat(
        "at no load that was tried was %s steady with %g %% successes: %s",
        run.model, kLeastSuccessShare * 100, missed);
    return best;
  }
  best.rate = highest->achieved_rate;
  best.is_most_tried = others.empty();
  best.addition = absl::StrCat(
      others.empty() ? ", the most that was tried: " : ": ",
      LatencyInWords(*highest), missed.empty() ? "" : "; ", missed);
  return best;
}

// The fastest query of those that were answered to their end.
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
          .bound = " of one query (offline)",
          .addition = SuccessShare(*fastest) < kLeastSuccessShare
                          ? absl::StrCat("; ", WhyNotCarried(*fastest))
                          : ""};
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

// The one load of a run, with what speaks against it.
std::string OneLoad(const RunResult& run) {
  const PointResult& point = run.points[0];
  const std::string doubt = WhyNotCarried(point);
  return absl::StrCat("one load only (", DescribeLoad(point), "): ", run.model,
                      " served ", RateInWords(point.achieved_rate),
                      " requests/s, ", LatencyInWords(point),
                      doubt.empty() ? "" : "; ", doubt);
}

std::string OneRun(const Best& best) {
  const bool is_one_load = best.run->points.size() == 1 &&
                           !best.run->search.has_value() &&
                           best.kind != "offline";
  if (is_one_load && (best.rate > 0 || !best.none.empty())) {
    return OneLoad(*best.run);
  }
  if (best.rate == 0) {
    return !best.none.empty() ? best.none
           : best.bound.empty()
               ? "nothing can be said"
               : absl::StrCat("at no load that was tried does ",
                              best.run->model, " keep", best.bound.substr(5));
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
  if (other->is_most_tried) {
    return absl::StrFormat(
        "%s; %s carried the highest load that was put to it, %s", text, name,
        RateInWords(other->rate));
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
