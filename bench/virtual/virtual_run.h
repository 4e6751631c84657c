// RunVirtual plays the real Scheduler, policies and admission on a virtual
// device and a virtual clock, under open-loop load. What it says is simulated:
// no wire, no wake-ups, no noise; so it compares policies and checks formulas
// exactly.
//
// Deterministic: the same options give the same log.
//
// Thread safety: a function; keeps nothing.
#ifndef FERRY_BENCH_VIRTUAL_VIRTUAL_RUN_H_
#define FERRY_BENCH_VIRTUAL_VIRTUAL_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/scheduler.h"
#include "batcher/sim/virtual_device.h"
#include "batcher/sim/virtual_streams.h"

namespace ferry::bench {

// Requests of one kind; Poisson arrivals of their own.
struct VirtualClass {
  std::string name = "all";
  double per_second = 1;  // requests
  int32_t rows = 1;
  int32_t level = 0;
  int64_t width = 1;  // of the shape; classes of one width share batches
  Duration timeout{0};
  // Arrivals bring a geometric number of requests of this mean, >= 1.
  double mean_burst = 1;
};

struct VirtualRunOptions {
  SchedulerOptions scheduler;  // the run sets its clock
  VirtualDeviceOptions device;
  // Instead of that: a device that copies and computes at once.
  std::optional<VirtualStreamsOptions> streams;
  std::vector<VirtualClass> classes;
  Duration duration = std::chrono::seconds(10);  // of arrivals
  uint64_t seed = 1;

  int32_t instances() const {
    return streams.has_value() ? 1 : device.instances;
  }
  // Compute of a batch of so many rows, without jitter and buckets.
  Duration ServiceTime(int32_t rows) const {
    return streams.has_value() ? streams->compute.Of(rows)
                               : device.alpha + rows * device.beta;
  }
};

// One request: when it came, when and how it ended.
struct VirtualRecord {
  TimePoint arrival;
  TimePoint end;
  int32_t class_index = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  bool was_refused = false;
};

struct VirtualRunResult {
  Duration busy{0};  // of all instances, in batches that ended before arrivals
  int64_t batches = 0;  // in all
  int64_t rows = 0;     // of those
  SchedulerStatistics counted;
};

// Calls `log` once a request, in the order in which they end. Errors: those of
// Scheduler::Create().
absl::StatusOr<VirtualRunResult> RunVirtual(
    const VirtualRunOptions& options,
    const std::function<void(const VirtualRecord&)>& log);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_VIRTUAL_VIRTUAL_RUN_H_
