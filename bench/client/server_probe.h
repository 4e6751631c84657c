// ServerProbe reads the server's own counters around a measured window.
//
// Times and rows are ModelStatistics', which Triton has as well. Why batches
// closed is `ferry_batches_closed_total` on the metrics port, where one was
// given, as is how busy the instances were.
//
// Thread safety: thread-compatible.
// Errors: a server without counters gives empty optionals, not an error.
#ifndef FERRY_BENCH_CLIENT_SERVER_PROBE_H_
#define FERRY_BENCH_CLIENT_SERVER_PROBE_H_

#include <string>

#include "bench/client/counter_source.h"
#include "bench/client/model_client.h"

namespace ferry::bench {

class ServerProbe final : public CounterSource {
 public:
  // `client` and `device`, which may be null, outlive the probe.
  // `metrics_address` is host:port, or empty.
  ServerProbe(const ModelClient& client, bool has_statistics,
              std::string metrics_address, DeviceSource* device);

  ServerCounters Read() const override;
  DeviceSource* device() const override { return device_; }

 private:
  const ModelClient& client_;
  const bool has_statistics_;
  const std::string metrics_address_;
  DeviceSource* const device_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_CLIENT_SERVER_PROBE_H_
