// Implements Compare(): groups runs by label, and writes a sentence for each
// label after the first.
#include "bench/report/rate_comparison.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/report/frontier.h"

namespace ferry::bench {
namespace {

// The runs of one model under one label: a run and its repeats.
struct Repeats {
  std::string model;
  std::string label;
  std::vector<const RunResult*> runs = {};
};

std::vector<Repeats> ByLabel(const std::vector<RunResult>& runs) {
  std::vector<Repeats> all;
  for (const RunResult& run : runs) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Repeats& of) {
      return of.model == run.model && of.label == run.label;
    });
    if (found == all.end()) {
      found = all.insert(all.end(), {.model = run.model, .label = run.label});
    }
    found->runs.push_back(&run);
  }
  return all;
}

bool IsSearch(const Repeats& of) { return of.runs[0]->search.has_value(); }

bool IsSameBound(const Repeats& a, const Repeats& b) {
  const SearchSummary& left = *a.runs[0]->search;
  const SearchSummary& right = *b.runs[0]->search;
  return left.slo_ms == right.slo_ms && left.percentile == right.percentile;
}

// Returns the highest rate that searches found; 0 where none did.
double FoundRate(const Repeats& of) {
  double best = 0;
  for (const RunResult* run : of.runs) {
    if (run->search.has_value()) {
      best = std::max(best, run->search->found_rate.value_or(0));
    }
  }
  return best;
}

// Returns the highest rate of such loops that are carried; 0 where none is.
double BestRate(const Repeats& of, const char* loop) {
  double best = 0;
  for (const RunResult* run : of.runs) {
    for (const PointResult& point : run->points) {
      if (point.loop == loop && Carries(point)) {
        best = std::max(best, point.achieved_rate);
      }
    }
  }
  return best;
}

// Returns a sentence that compares like with like; "" where there is none.
std::string CompareTwo(const Repeats& base, const Repeats& other) {
  const auto sentence = [&](const char* did, double of_other,
                            const std::string& how, double of_base) {
    return absl::StrFormat("'%s' %s %.0f/s%s, '%s' %.0f/s: %.1fx", other.label,
                           did, of_other, how, base.label, of_base,
                           of_other / of_base);
  };
  if (IsSearch(base) || IsSearch(other)) {
    return IsSearch(base) && IsSearch(other) && IsSameBound(base, other) &&
                   FoundRate(base) > 0 && FoundRate(other) > 0
               ? sentence("carries", FoundRate(other), " by its search",
                          FoundRate(base))
               : "";
  }
  struct Words {
    const char* loop;
    const char* did;
    const char* how;
  };
  // A server that is asked for a rate does not show what more it could do.
  for (const Words& words :
       {Words{"closed", "served up to", " in closed loops"},
        Words{"open", "carried", ", the most of the open loops tried"}}) {
    const double of_base = BestRate(base, words.loop);
    const double of_other = BestRate(other, words.loop);
    if (of_base > 0 && of_other > 0) {
      return sentence(words.did, of_other, words.how, of_base);
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> Compare(const std::vector<RunResult>& runs) {
  const std::vector<Repeats> all = ByLabel(runs);
  std::vector<std::string> sentences;
  for (const Repeats& other : all) {
    const auto first = std::find_if(
        all.begin(), all.end(),
        [&](const Repeats& of) { return of.model == other.model; });
    if (&*first == &other) {
      continue;
    }
    if (std::string sentence = CompareTwo(*first, other); !sentence.empty()) {
      sentences.push_back(std::move(sentence));
    }
  }
  return sentences;
}

}  // namespace ferry::bench
