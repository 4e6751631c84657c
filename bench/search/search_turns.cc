// Implements SearchInTurns(): a try of each search, round after round.
#include "bench/search/search_turns.h"

namespace ferry::bench {

absl::Status SearchInTurns(const std::vector<TurnOfSearch>& turns,
                           const RateSearch::OnTry& on_try) {
  bool is_any_left = true;
  while (is_any_left) {
    is_any_left = false;
    for (const TurnOfSearch& turn : turns) {
      if (!turn.search->has_next()) {
        continue;
      }
      if (absl::Status status = turn.begin(); !status.ok()) {
        return status;
      }
      is_any_left = turn.search->Step(*turn.run, on_try) || is_any_left;
      if (!turn.search->status().ok()) {
        return turn.search->status();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench
