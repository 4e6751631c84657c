// DeviceWatch reads a device while a measured window lasts: at its begin, once
// a second, and at its end. On a thread of its own, so that neither the load
// generator nor the reading of the server's counters waits for a device.
//
// Thread safety: thread-compatible, except EndNow().
#ifndef FERRY_BENCH_DEVICE_DEVICE_WATCH_H_
#define FERRY_BENCH_DEVICE_DEVICE_WATCH_H_

#include <chrono>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "bench/device/device_means.h"
#include "bench/device/device_reading.h"
#include "bench/device/device_summary.h"

namespace ferry::bench {

class DeviceWatch {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // `source` outlives it; null: there is nothing to read, and no thread. The
  // window lasts until `end` (kNever: until EndNow()).
  DeviceWatch(DeviceSource* source, TimePoint begin, TimePoint end,
              Duration interval = kInterval);
  ~DeviceWatch();

  // The window ends now, before its time. From any thread; returns at once.
  void EndNow();

  // Returns what the device said of the window; a window that has not ended
  // ends now. Nothing where it had not begun, or where the device told nothing.
  std::optional<DeviceSummary> Finish();

 private:
  void Run();
  void Read();
  // Returns whether the window goes on; false at once where it was ended.
  bool WaitUntil(TimePoint until);

  DeviceSource* const source_;
  const TimePoint begin_;
  const TimePoint end_;
  const Duration interval_;
  Mutex mutex_;
  CondVar changed_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  DeviceMeans means_;  // the thread's, until it is joined
  std::thread thread_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_DEVICE_DEVICE_WATCH_H_
