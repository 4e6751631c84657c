// TurnsOf() orders the turns in which the same loads are put several times:
// again, on two servers, with several settings of the runtime options of one.
//
// One after the other, so that what changes on the machine meanwhile meets all
// alike: a round has each server with each setting once, every other round in
// opposite order (a steady drift then weighs on none).
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_COMMANDS_RUN_TURNS_H_
#define FERRY_BENCH_COMMANDS_RUN_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/report/run_result.h"
#include "bench/search/sweep.h"

namespace ferry::bench {

struct Turn {
  int32_t round = 0;
  size_t server = 0;
  size_t setting = 0;  // 0 where none is turned

  bool operator==(const Turn&) const = default;
};

// Returns all turns in order. REQUIRES: each count is 1 at least.
std::vector<Turn> TurnsOf(int32_t rounds, size_t servers, size_t settings);

// Returns the loads of a later turn: the rates that the first one was put,
// where these were shares of the saturation that it found; of a later round
// arrivals from other seeds, the same for all its turns.
SweepOptions LoadsOfTurn(const SweepOptions& first, const RunResult& first_run,
                         const Turn& turn);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_RUN_TURNS_H_
