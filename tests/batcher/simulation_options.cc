// What a simulation is loaded with.
#include <algorithm>

#include "tests/batcher/simulation.h"

namespace ferry {

SteppedBatcherOptions Simulation::DrawOptions() {
  SteppedBatcherOptions options = RandomOptions(random_, load_);
  if (draws_ == Draws::kAll) {
    DrawLaterOptions(later_, options);
    const int64_t least_compute = LaterUniform(1, 20);
    if (LaterOneIn(2)) {
      least_compute_ = Duration(least_compute * 100'000);
    }
  }
  return options;
}

SteppedBatcherOptions Simulation::RandomOptions(std::mt19937_64& random,
                                                Load load) {
  const auto uniform = [&random](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  SteppedBatcherOptions options;
  BatcherOptions& batcher = options.batcher;
  batcher.max_batch_size = uniform(1, 12);
  if (uniform(1, 3) == 1) {
    batcher.max_requests_per_batch = uniform(1, 5);
  }
  constexpr PolicyKind kPolicies[] = {PolicyKind::kEager, PolicyKind::kWindow,
                                      PolicyKind::kAdaptive};
  batcher.policy = kPolicies[uniform(0, 2)];
  batcher.max_wait = Milliseconds(uniform(0, 4));
  batcher.queue.requests = uniform(1, 30);
  batcher.queue.rows = uniform(1, 80);
  batcher.queue.bytes = uniform(8, 1000);
  batcher.levels.resize(static_cast<size_t>(uniform(1, 3)));
  for (LevelOptions& level : batcher.levels) {
    level.default_timeout = Milliseconds(uniform(0, 1) * uniform(1, 30));
    level.may_shorten = uniform(0, 1) == 0;
    level.delays_late = uniform(0, 2) == 0;
    level.max_requests = uniform(0, 1) * uniform(1, 10);
  }
  if (uniform(0, 2) == 0) {
    batcher.buckets = {batcher.max_batch_size};
    if (batcher.max_batch_size > 2) {
      batcher.buckets.insert(batcher.buckets.begin(),
                             batcher.max_batch_size / 2);
    }
  }
  batcher.max_undelivered_batches = uniform(1, 3);
  options.backend.lanes = uniform(1, 3);
  options.backend.slots = options.backend.lanes * uniform(1, 2);
  options.backend.spec = RowSpec(uniform(0, 1) == 0 ? 1 : kAnySize);
  if (load == Load::kOverload) {
    batcher.queue = {.requests = uniform(20, 60)};
    batcher.levels.assign(static_cast<size_t>(uniform(2, 3)),
                          {.max_requests = 20});
  }
  return options;
}

void Simulation::DrawLaterOptions(std::mt19937_64& later,
                                  SteppedBatcherOptions& options) {
  const auto uniform = [&later](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(later);
  };
  BatcherOptions& batcher = options.batcher;
  options.backend.starts_only_full_ahead = uniform(0, 1) == 0;
  const int32_t enough_rows = uniform(1, batcher.max_batch_size + 1);
  batcher.enough_rows = uniform(0, 1) == 0 ? enough_rows : 0;
  // Not with several levels, nor with one that delays.
  if (uniform(0, 1) == 0 && batcher.levels.size() == 1) {
    batcher.preserve_ordering = true;
    batcher.levels[0].delays_late = false;
  }
}

}  // namespace ferry
