// DeferredEnds ends calls on a thread of its own: no target may end one within
// Send().
//
// Thread safety: Add() from any thread.
#ifndef FERRY_BENCH_LOCAL_DEFERRED_ENDS_H_
#define FERRY_BENCH_LOCAL_DEFERRED_ENDS_H_

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "bench/load/target.h"

namespace ferry::bench {

class DeferredEnds {
 public:
  DeferredEnds();

  // Ends what was added first.
  ~DeferredEnds();

  void Add(Target::Caller& caller, absl::StatusCode code);

 private:
  struct End {
    Target::Caller* caller;
    absl::StatusCode code;
  };

  void Run();
  // Takes what was added; waits for some. False: there is none, and will be
  // none.
  bool Take(std::vector<End>& ends);

  Mutex mutex_;
  CondVar changed_;
  std::vector<End> ends_ ABSL_GUARDED_BY(mutex_);
  bool sleeps_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOCAL_DEFERRED_ENDS_H_
