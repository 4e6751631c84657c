// WindowProbe reads a CounterSource at both ends of a measured window, on a
// thread of its own, so that the load generator is never held up; and has its
// device watched meanwhile.
//
// Thread safety: thread-compatible, except EndNow().
#ifndef FERRY_BENCH_SEARCH_WINDOW_PROBE_H_
#define FERRY_BENCH_SEARCH_WINDOW_PROBE_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "bench/client/counter_source.h"
#include "bench/device/device_watch.h"
#include "bench/load/load_generator.h"
#include "bench/load/pacer.h"

namespace ferry::bench {

// Returns a plan of a load that begins in a moment, when the probe's thread is
// up, with the slices that reports have.
LoadPlan PlanWindow(const Pacer& pacer, Duration warm_up, Duration measured,
                    int32_t max_outstanding);

class WindowProbe {
 public:
  // `probe` outlives it; null: there is nothing to read.
  WindowProbe(const CounterSource* probe, const LoadPlan& plan,
              int32_t instances);
  ~WindowProbe();

  // The window ends now, before its time. From any thread; returns at once.
  void EndNow();

  // Returns what happened in the window; a window that has not ended ends now.
  ServerWindow Finish();

 private:
  void Run();
  void WaitUntil(TimePoint until);

  const CounterSource* const probe_;
  const LoadPlan plan_;
  const int32_t instances_;
  Mutex mutex_;
  CondVar changed_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  ServerWindow window_;  // the thread's, until it is joined
  DeviceWatch device_;
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_WINDOW_PROBE_H_
