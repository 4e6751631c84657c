// Tests the batcher by seeded simulations that check G1-G5 after every action.
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
constexpr int kOverloadedActions = 2000;

// One thread: there is nothing in it for ThreadSanitizer, which takes 30 times
// as long.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t kSeeds = 50;
constexpr uint64_t kOverloadedSeeds = 5;
#else
constexpr uint64_t kSeeds = 1000;
constexpr uint64_t kOverloadedSeeds = 50;
#endif

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void Play(Simulation::Load load, uint64_t seed,
          Simulation::Draws draws = Simulation::Draws::kAll) {
  SCOPED_TRACE("replay with FERRY_SIMULATION_SEED=" + std::to_string(seed));
  const bool is_mixed = load == Simulation::Load::kMixed;
  Simulation(seed, load, draws).Run(is_mixed ? kActions : kOverloadedActions);
}

void PlayAll(Simulation::Load load, uint64_t otherwise) {
  if (const uint64_t seed = FromEnvironment("FERRY_SIMULATION_SEED", 0)) {
    return Play(load, seed);
  }
  const uint64_t seeds = FromEnvironment("FERRY_SIMULATION_SEEDS", otherwise);
  for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFailure();
       ++seed) {
    Play(load, seed);
  }
}

TEST(Simulation, EverySeedKeepsTheGuarantees) {
  PlayAll(Simulation::Load::kMixed, kSeeds);
}

TEST(Simulation, NoLevelStarvesUnderOverload) {
  PlayAll(Simulation::Load::kOverload, kOverloadedSeeds);
}

// A less urgent request of more rows than a batch held by then waited for ever.
TEST(Simulation, RequestLargerThanABatchIsNowDoesNotStarve) {
  Play(Simulation::Load::kOverload, 12, Simulation::Draws::kFirst);
}

}  // namespace
}  // namespace ferry
