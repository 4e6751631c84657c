// ProcessLoads runs loads that several processes of this machine share, joined
// to what one process would have measured that had sent all of it.
//
// An open loop is one plan, made by each worker from the same seed, of which
// each sends every so-manieth request: what is sent and when does not depend on
// how many they are, whatever the arrivals. A closed loop's outstanding calls
// are divided. All begin at one moment of CLOCK_MONOTONIC.
//
// Thread safety: that of LoadSource.
// Errors: those that a worker met; UNAVAILABLE where one has ended, at which
// the others are ended too; DEADLINE_EXCEEDED where one does not answer.
#ifndef FERRY_BENCH_PROCESSES_PROCESS_LOADS_H_
#define FERRY_BENCH_PROCESSES_PROCESS_LOADS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "bench/load/load_source.h"
#include "bench/processes/child_process.h"
#include "bench/processes/load_message.h"

namespace ferry::bench {

class ProcessLoads final : public LoadSource {
 public:
  // Starts a worker with each of these arguments and waits until all are ready,
  // for `limit` at most. REQUIRES: at least one.
  static absl::StatusOr<std::unique_ptr<ProcessLoads>> Start(
      const std::vector<std::vector<std::string>>& arguments, Duration limit);

  Loaded RunClosed(int32_t outstanding, const LoadPlan& plan) override;
  Loaded RunOpen(double rate, uint64_t seed, const LoadPlan& plan) override;
  // UNIMPLEMENTED: one query is of one process.
  Loaded RunOffline(uint64_t calls, int32_t outstanding,
                    const LoadPlan& plan) override;
  void Stop() override;
  // The time alone: what has ended is known in the end.
  std::optional<LoadProgress> progress() const override;
  Duration lead_time() const override;

 private:
  ProcessLoads() = default;

  // Sends each worker its order, where it has one, and joins what they
  // measured.
  Loaded Run(const std::vector<std::optional<LoadOrder>>& orders);
  Loaded Gather(std::vector<size_t> pending, TimePoint until);
  absl::StatusOr<LoadReply> ReceiveFrom(size_t worker);
  // Ends all, and says what happened to that one.
  absl::Status Fail(size_t worker, absl::StatusCode code,
                    const std::string& what);
  std::string Name(size_t worker) const;

  std::vector<std::unique_ptr<ChildProcess>> workers_;  // constant once started
  mutable Mutex mutex_;
  std::optional<LoadPlan> plan_ ABSL_GUARDED_BY(mutex_);  // under way
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_PROCESS_LOADS_H_
