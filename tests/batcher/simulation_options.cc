// Implements the options and loads that a simulation draws.
#include <algorithm>

#include "tests/batcher/simulation.h"

namespace ferry {

SteppedSchedulerOptions Simulation::DrawOptions() {
  SteppedSchedulerOptions options = RandomOptions(*choices_, load_);
  if (draws_ == Draws::kAll) {
    DrawLaterOptions(*later_, options);
    const int64_t least_compute = LaterUniform(1, 20);
    if (LaterOneIn(2)) {
      least_compute_ = Duration(least_compute * 100'000);
    }
  }
  return options;
}

SteppedSchedulerOptions Simulation::RandomOptions(Choices& choices, Load load) {
  const auto uniform = [&choices](int32_t low, int32_t high) {
    return static_cast<int32_t>(choices.Uniform(low, high));
  };
  SteppedSchedulerOptions options;
  SchedulerOptions& scheduler = options.scheduler;
  scheduler.max_batch_size = uniform(1, 12);
  if (uniform(1, 3) == 1) {
    scheduler.max_requests_per_batch = uniform(1, 5);
  }
  constexpr PolicyKind kPolicies[] = {PolicyKind::kEager, PolicyKind::kWindow,
                                      PolicyKind::kAdaptive};
  scheduler.policy = kPolicies[uniform(0, 2)];
  scheduler.max_wait = Milliseconds(uniform(0, 4));
  scheduler.queue.requests = uniform(1, 30);
  scheduler.queue.rows = uniform(1, 80);
  scheduler.queue.bytes = uniform(8, 1000);
  scheduler.levels.resize(static_cast<size_t>(uniform(1, 3)));
  for (LevelOptions& level : scheduler.levels) {
    level.default_timeout = Milliseconds(uniform(0, 1) * uniform(1, 30));
    level.may_shorten = uniform(0, 1) == 0;
    level.delays_late = uniform(0, 2) == 0;
    level.max_requests = uniform(0, 1) * uniform(1, 10);
  }
  if (uniform(0, 2) == 0) {
    scheduler.buckets = {scheduler.max_batch_size};
    if (scheduler.max_batch_size > 2) {
      scheduler.buckets.insert(scheduler.buckets.begin(),
                               scheduler.max_batch_size / 2);
    }
  }
  scheduler.max_undelivered_batches = uniform(1, 3);
  options.instances.count = uniform(1, 3);
  options.instances.max_in_flight = uniform(1, 2);
  options.instances.spec = RowSpec(uniform(0, 1) == 0 ? 1 : kAnySize);
  if (load == Load::kOverload) {
    scheduler.queue = {.requests = uniform(20, 60)};
    scheduler.levels.assign(static_cast<size_t>(uniform(2, 3)),
                            {.max_requests = 20});
  }
  return options;
}

void Simulation::DrawLaterOptions(Choices& later,
                                  SteppedSchedulerOptions& options) {
  const auto uniform = [&later](int32_t low, int32_t high) {
    return static_cast<int32_t>(later.Uniform(low, high));
  };
  SchedulerOptions& scheduler = options.scheduler;
  uniform(0, 1);  // no longer drawn; the draws of a seed stay what they were
  const int32_t enough_rows = uniform(1, scheduler.max_batch_size + 1);
  scheduler.enough_rows = uniform(0, 1) == 0 ? enough_rows : 0;
  // Not with several levels, nor with one that delays.
  if (uniform(0, 1) == 0 && scheduler.levels.size() == 1) {
    scheduler.preserve_ordering = true;
    scheduler.levels[0].delays_late = false;
  }
}

}  // namespace ferry
