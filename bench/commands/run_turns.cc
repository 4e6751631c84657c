// Implements TurnsOf() and LoadsOfTurn(): rounds, every second one reversed.
#include "bench/commands/run_turns.h"

#include <algorithm>

namespace ferry::bench {

std::vector<Turn> TurnsOf(int32_t rounds, size_t servers, size_t settings) {
  std::vector<Turn> turns;
  for (int32_t round = 0; round < rounds; ++round) {
    std::vector<Turn> of_round;
    for (size_t setting = 0; setting < settings; ++setting) {
      for (size_t server = 0; server < servers; ++server) {
        of_round.push_back({round, server, setting});
      }
    }
    if (round % 2 == 1) {
      std::reverse(of_round.begin(), of_round.end());
    }
    turns.insert(turns.end(), of_round.begin(), of_round.end());
  }
  return turns;
}

SweepOptions LoadsOfTurn(const SweepOptions& first, const RunResult& first_run,
                         const Turn& turn) {
  SweepOptions loads = first;
  // The first turn did this for its shares: each run knows its own saturation.
  if (!loads.loads.empty() &&
      std::find(loads.outstanding.begin(), loads.outstanding.end(),
                loads.saturation_outstanding) == loads.outstanding.end()) {
    loads.outstanding.push_back(loads.saturation_outstanding);
  }
  for (const double load : loads.loads) {
    if (first_run.saturation_rate > 0) {
      loads.rates.push_back(load * first_run.saturation_rate);
    }
  }
  loads.loads.clear();
  loads.seed += static_cast<uint64_t>(turn.round) * loads.rates.size();
  return loads;
}

}  // namespace ferry::bench
