// ProgressLine says now and then how the load under way does, and of several
// about how long all of them take: on a terminal in one line that is written
// over each second, else in a line of its own every ten seconds.
//
// Thread safety: made and destroyed by one thread; `progress` and `later` are
// called from the line's own.
#ifndef FERRY_BENCH_COMMANDS_PROGRESS_LINE_H_
#define FERRY_BENCH_COMMANDS_PROGRESS_LINE_H_

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "bench/load/load_generator.h"

namespace ferry::bench {

// Returns "12 s left, 1000/s, p50 1.20 ms, p99 3.40 ms, 0 failed"; the first
// part alone where nothing has ended, or it is not known yet. A query has "120
// of 384 answered, 100/s, 0 failed".
std::string Describe(const LoadProgress& progress);

// The same behind "about 9 min left in all; ": what is left of the load under
// way and `later`, of those that follow it, so never less than the former.
std::string Describe(const LoadProgress& progress, Duration later);

// Clears what stands in the terminal's line, so that another can be written.
void ClearProgress();

class ProgressLine {
 public:
  using Progress = std::function<std::optional<LoadProgress>()>;

  // About how long the loads take that follow the one under way.
  using Later = std::function<Duration()>;

  // `later` may be empty: it is not said.
  explicit ProgressLine(Progress progress, Later later = {});
  ~ProgressLine();

 private:
  void Run();

  const Progress progress_;
  const Later later_;
  const bool is_terminal_;
  Mutex mutex_;
  CondVar changed_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_PROGRESS_LINE_H_
