// Implements MatchLoads(): a key for each point, pairs by the dates of runs,
// attributes side by side.
#include "bench/compare/load_match.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/report/point_rules.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

using Runs = std::vector<RunResult>;

// How long its points were measured for, each length once. Queries last until
// their end, tries until they are decided.
std::string WindowsOf(const RunResult& run) {
  std::set<std::string> windows;
  for (const PointResult& point : run.points) {
    if (point.loop != "offline" && !point.interrupted && !IsTry(point)) {
      windows.insert(absl::StrFormat("%.3g s", point.window_s));
    }
  }
  return absl::StrJoin(windows, ", ");
}

// Something that a run is of, in words.
struct Attribute {
  const char* name;
  std::function<std::string(const RunResult&)> of;
  bool is_of_key;  // where A and B have values in common
  bool is_warned;  // where they have not
};

const std::vector<Attribute>& Attributes() {
  static const auto* const kAll = new std::vector<Attribute>{
      {"label", [](const RunResult& run) { return run.label; }, true, false},
      {"model", [](const RunResult& run) { return run.model; }, true, true},
      {"rows of a request",
       [](const RunResult& run) {
         return absl::StrFormat("%g", run.rows_per_request);
       },
       true, true},
      {"classes",
       [](const RunResult& run) { return absl::StrJoin(run.classes, ","); },
       true, true},
      {"data", [](const RunResult& run) { return run.data; }, true, true},
      {"runtime options",
       [](const RunResult& run) {
         return run.runtime_options.has_value() ? Describe(*run.runtime_options)
                                                : "";
       },
       true, false},
      {"window", WindowsOf, false, true},
      {"warm-up",
       [](const RunResult& run) {
         return absl::StrFormat("%.3g s", run.warm_up_s);
       },
       false, true},
      {"simulated",
       [](const RunResult& run) { return run.is_simulated ? "yes" : "no"; },
       false, true},
      {"platform", [](const RunResult& run) { return run.platform; }, false,
       true},
      {"bytes of a request",
       [](const RunResult& run) { return absl::StrCat(run.request_bytes); },
       false, true},
      {"server's device",
       [](const RunResult& run) {
         const auto& device = run.environment.device;
         return device.has_value() ? device->device.name : "";
       },
       false, true},
      {"client's processor", [](const RunResult& run) { return run.cpu; },
       false, true},
      {"client's cores",
       [](const RunResult& run) { return absl::StrCat(run.cores); }, false,
       true},
      {"client's kernel", [](const RunResult& run) { return run.kernel; },
       false, true},
      {"ferry-bench", [](const RunResult& run) { return run.client_version; },
       false, true}};
  return *kAll;
}

std::set<std::string> Values(const Runs& runs, const Attribute& attribute) {
  std::set<std::string> values;
  for (const RunResult& run : runs) {
    values.insert(attribute.of(run));
  }
  return values;
}

bool HaveCommon(const std::set<std::string>& a,
                const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& value) {
    return b.count(value) > 0;
  });
}

std::string Warning(const Attribute& attribute, const std::set<std::string>& a,
                    const std::set<std::string>& b) {
  return absl::StrFormat("%s: '%s' in A, '%s' in B", attribute.name,
                         absl::StrJoin(a, "', '"), absl::StrJoin(b, "', '"));
}

std::string LoadOf(const PointResult& point) {
  if (point.loop == "closed") {
    return absl::StrCat("closed, ", point.outstanding, " outstanding");
  }
  if (point.loop == "offline") {
    return absl::StrCat("offline, ", point.query_rows, " rows, ",
                        point.outstanding, " outstanding");
  }
  std::string load = absl::StrFormat("open, %.6g/s", point.target_rate);
  if (!point.arrivals.empty() && point.arrivals != "poisson") {
    absl::StrAppend(&load, ", ", point.arrivals);
  }
  return load;
}

std::string WhyNot(const PointResult& point) {
  if (point.interrupted) {
    return "cut short";
  }
  return point.void_reason.empty() ? "" : "void: " + point.void_reason;
}

std::string WhyNot(const MeasuredPoint& measured) {
  if (measured.point != nullptr) {
    return WhyNot(*measured.point);
  }
  const SearchSummary& search = *measured.run->search;
  if (search.found_rate.has_value()) {
    return "";
  }
  if (const auto unconfirmed = UnconfirmedRate(*measured.run)) {
    return absl::StrFormat("no rate was confirmed, %.0f/s met it in a try",
                           *unconfirmed);
  }
  return search.client_ceiling > 0
             ? absl::StrFormat(
                   "no rate was found (the client could not send "
                   "%.0f/s on time)",
                   search.client_ceiling)
             : "no rate was found";
}

// "search, p99 <= 20 ms"
std::string SearchOf(const RunResult& run, const char* kind) {
  std::string load = absl::StrCat(kind, ", ", DescribeBound(*run.search));
  for (const PointResult& point : run.points) {
    if (point.loop == "open" && !point.arrivals.empty() &&
        point.arrivals != "poisson") {
      absl::StrAppend(&load, ", ", point.arrivals);
      break;
    }
  }
  return load;
}

struct Sides {
  MatchedBy by = MatchedBy::kLoad;
  std::vector<MeasuredPoint> a = {};
  std::vector<MeasuredPoint> b = {};
};

// Whether they are only what searches went to.
bool AreOfSearches(const std::vector<MeasuredPoint>& points) {
  return std::all_of(
      points.begin(), points.end(), [](const MeasuredPoint& measured) {
        return measured.point != nullptr && measured.run->search.has_value() &&
               measured.point->loop == "open";
      });
}

// The points by their keys, which are listed in the order they came in.
class Collected {
 public:
  // Attributes whose values all runs share say nothing in a key.
  Collected(std::vector<const Attribute*> of_key) : of_key_(of_key) {}

  void Add(const Runs& runs, std::vector<MeasuredPoint> Sides::*side) {
    for (const RunResult& run : runs) {
      for (const PointResult& point : run.points) {
        if (IsTry(point)) {
          continue;
        }
        Append(KeyOf(run, LoadOf(point)), MatchedBy::kLoad, {&run, &point},
               side);
      }
    }
    AddSearches(runs, side);
  }

  const std::vector<std::string>& order() const { return order_; }
  const Sides& of(const std::string& key) const { return sides_.at(key); }

 private:
  void Append(const std::string& key, MatchedBy by,
              const MeasuredPoint& measured,
              std::vector<MeasuredPoint> Sides::*side) {
    if (sides_.count(key) == 0) {
      order_.push_back(key);
      sides_[key].by = by;
    }
    (sides_[key].*side).push_back(measured);
  }

  // RuntimeOptions are those of a tune: `search` turns none.
  void AddSearches(const Runs& runs, std::vector<MeasuredPoint> Sides::*side) {
    std::map<std::string, const RunResult*> best;  // by their bound
    for (const RunResult& run : runs) {
      if (!run.search.has_value()) {
        continue;
      }
      const bool is_tuned = run.runtime_options.has_value();
      Append(KeyOf(run, SearchOf(run, "search")),
             is_tuned ? MatchedBy::kTuned : MatchedBy::kBound, {&run, nullptr},
             side);
      if (is_tuned) {
        const RunResult*& found = best[SearchOf(run, "tune")];
        if (found == nullptr ||
            found->search->found_rate < run.search->found_rate) {
          found = &run;
        }
      }
    }
    for (const auto& [bound, run] : best) {
      Append(bound + ", best setting", MatchedBy::kBest, {run, nullptr}, side);
    }
  }

  std::string KeyOf(const RunResult& run, std::string key) const {
    for (const Attribute* attribute : of_key_) {
      const std::string value = attribute->of(run);
      if (!value.empty()) {
        absl::StrAppend(&key, ", ", attribute->name, " ", value);
      }
    }
    return key;
  }

  const std::vector<const Attribute*> of_key_;
  std::vector<std::string> order_;
  std::map<std::string, Sides> sides_;
};

// Runs of one second's date count as one after the other, as files have them.
bool ArePairs(const Sides& sides) {
  if (sides.a.size() != sides.b.size() || sides.a.size() < 2) {
    return false;
  }
  for (size_t k = 1; k < sides.a.size(); ++k) {
    const std::string last =
        std::max(sides.a[k - 1].run->date, sides.b[k - 1].run->date);
    const std::string next =
        std::min(sides.a[k].run->date, sides.b[k].run->date);
    if (last.empty() || next < last || sides.a[k].run == sides.a[k - 1].run ||
        sides.b[k].run == sides.b[k - 1].run) {
      return false;
    }
  }
  return true;
}

void LeaveOut(const char* side, const std::string& key, const std::string& why,
              LoadMatches& matches) {
  matches.left_out.push_back(absl::StrFormat("%s: %s in %s", key, why, side));
}

// Keeps those whose numbers stand, of pairs both or none.
LoadMatch Standing(const std::string& key, const Sides& sides,
                   LoadMatches& matches) {
  LoadMatch match{.load = key, .by = sides.by, .is_paired = ArePairs(sides)};
  for (size_t k = 0; k < std::max(sides.a.size(), sides.b.size()); ++k) {
    const auto why = [&](const std::vector<MeasuredPoint>& side,
                         const char* name) {
      std::string reason = k < side.size() ? WhyNot(side[k]) : "missing";
      if (k < side.size() && !reason.empty()) {
        LeaveOut(name, key, reason, matches);
      }
      return reason;
    };
    const bool has_a = why(sides.a, "A").empty();
    const bool has_b = why(sides.b, "B").empty();
    if (has_a && (has_b || !match.is_paired)) {
      match.a.push_back(sides.a[k]);
    }
    if (has_b && (has_a || !match.is_paired)) {
      match.b.push_back(sides.b[k]);
    }
  }
  return match;
}

// Says how many of one side's points are unsteady, and why the first is.
void NoteUnsteady(const char* side, const std::string& load,
                  const std::vector<MeasuredPoint>& points,
                  LoadMatches& matches) {
  std::string why;
  size_t count = 0;
  for (const MeasuredPoint& measured : points) {
    if (measured.point == nullptr) {
      continue;  // of a search, whose rate was confirmed by steady ones
    }
    const std::string one = WhyUnsteady(*measured.point);
    count += one.empty() ? 0 : 1;
    why = why.empty() ? one : why;
  }
  if (count > 0) {
    matches.unsteady.push_back(absl::StrFormat(
        "%s: unsteady in %s%s: %s", load, side,
        points.size() > 1 ? absl::StrFormat(" (%d of %d)", count, points.size())
                          : "",
        why));
  }
}

// Says where open loops are shares of a rate that is not sure.
void NoteSaturations(const char* side, const Runs& runs, LoadMatches& matches) {
  for (const RunResult& run : runs) {
    const std::string doubt = DoubtOfSaturation(run);
    if (!doubt.empty() && std::any_of(run.points.begin(), run.points.end(),
                                      [](const PointResult& point) {
                                        return point.load.has_value();
                                      })) {
      matches.unsteady.push_back(absl::StrFormat(
          "the saturation of '%s' in %s, of which its loads are shares, is not "
          "sure: %s",
          run.label, side, doubt));
    }
  }
}

}  // namespace

LoadMatches MatchLoads(const Runs& a, const Runs& b) {
  LoadMatches matches;
  NoteSaturations("A", a, matches);
  NoteSaturations("B", b, matches);
  std::vector<const Attribute*> of_key;
  for (const Attribute& attribute : Attributes()) {
    const auto of_a = Values(a, attribute);
    const auto of_b = Values(b, attribute);
    const bool have_common = HaveCommon(of_a, of_b);
    if (attribute.is_of_key && have_common && (of_a.size() + of_b.size() > 2)) {
      of_key.push_back(&attribute);
    }
    if (attribute.is_warned && !have_common && !of_a.empty() && !of_b.empty()) {
      matches.warnings.push_back(Warning(attribute, of_a, of_b));
    }
  }
  Collected collected(of_key);
  collected.Add(a, &Sides::a);
  collected.Add(b, &Sides::b);
  for (const std::string& key : collected.order()) {
    const Sides& sides = collected.of(key);
    const auto of_others = static_cast<ptrdiff_t>(matches.left_out.size());
    if (sides.a.empty() || sides.b.empty()) {
      if (AreOfSearches(sides.a) && AreOfSearches(sides.b)) {
        continue;
      }
      LeaveOut(sides.a.empty() ? "B" : "A", key,
               sides.by == MatchedBy::kLoad ? "measured only" : "searched only",
               matches);
    } else if (LoadMatch match = Standing(key, sides, matches);
               !match.a.empty() && !match.b.empty()) {
      NoteUnsteady("A", key, match.a, matches);
      NoteUnsteady("B", key, match.b, matches);
      matches.loads.push_back(std::move(match));
      continue;
    }
    if (sides.by == MatchedBy::kTuned) {
      continue;  // a race tells the rates of few; the best is judged
    }
    matches.unmatched.insert(matches.unmatched.end(),
                             matches.left_out.begin() + of_others,
                             matches.left_out.end());
  }
  return matches;
}

}  // namespace ferry::bench
