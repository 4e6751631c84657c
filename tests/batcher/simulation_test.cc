// Seeded simulations of the batcher; each checks G1-G5 after every action.
//
//   FERRY_SIMULATION_SEED=17    plays that seed only
//   FERRY_SIMULATION_SEEDS=9999 plays that many, from 1
#include "tests/batcher/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ferry {
namespace {

constexpr int kActions = 300;

// One thread: there is nothing in it for ThreadSanitizer, which takes 30 times
// as long.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t kSeeds = 50;
#else
constexpr uint64_t kSeeds = 300;
#endif

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void Play(uint64_t seed) {
  SCOPED_TRACE("replay with FERRY_SIMULATION_SEED=" + std::to_string(seed));
  Simulation(seed).Run(kActions);
}

TEST(Simulation, EverySeedKeepsTheGuarantees) {
  if (const uint64_t seed = FromEnvironment("FERRY_SIMULATION_SEED", 0)) {
    return Play(seed);
  }
  const uint64_t seeds = FromEnvironment("FERRY_SIMULATION_SEEDS", kSeeds);
  for (uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Play(seed);
  }
}

}  // namespace
}  // namespace ferry
