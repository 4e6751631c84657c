// CounterSource tells at both ends of a measured window what was counted so
// far, by a server (ServerProbe) or by a batcher of this process
// (BatcherCounters).
//
// Thread safety: Read() by one thread at a time.
// Errors: what is not counted is absent, which is no error.
#ifndef FERRY_BENCH_CLIENT_COUNTER_SOURCE_H_
#define FERRY_BENCH_CLIENT_COUNTER_SOURCE_H_

#include "bench/client/server_window.h"
#include "bench/device/device_reading.h"

namespace ferry::bench {

class CounterSource {
 public:
  virtual ~CounterSource() = default;

  virtual ServerCounters Read() const = 0;

  // What is computed on, for a DeviceWatch; null: not told.
  virtual DeviceSource* device() const = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_COUNTER_SOURCE_H_
