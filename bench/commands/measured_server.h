// MeasuredServer is a server that a command measures, once it is ready, has
// described its model and answered a first request.
//
// Thread safety: thread-compatible; the target is thread-safe.
#ifndef FERRY_BENCH_COMMANDS_MEASURED_SERVER_H_
#define FERRY_BENCH_COMMANDS_MEASURED_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/client/grpc_target.h"
#include "bench/client/model_client.h"
#include "bench/client/server_probe.h"
#include "bench/client/shared_tensors.h"
#include "bench/commands/run_options.h"
#include "bench/device/device_reading.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

class MeasuredServer {
 public:
  // Errors: those of the device that NVML is asked for, before all else;
  // UNAVAILABLE where the server is not ready in time; those of its first
  // reply, of its metadata, and of options that do not fit these; metrics that
  // are asked for and cannot be read.
  static absl::StatusOr<std::unique_ptr<MeasuredServer>> Connect(
      RunOptions options);

  // The query of an offline scenario; nothing where there is none.
  const std::optional<OfflineQuery>& offline() const {
    return options_.sweep.offline;
  }

  // A result without points: what was measured, where, and by which command.
  RunResult Describe(const std::string& command_line) const;

  // REQUIRES: options.sends().
  Target& target() { return *target_; }
  const ServerProbe& probe() const { return probe_; }
  // 0: not known.
  int32_t instances() const { return description_.instance_count(); }

 private:
  MeasuredServer(const RunOptions& options, std::unique_ptr<ModelClient> client,
                 ModelDescription description,
                 std::unique_ptr<DeviceSource> device);

  const RunOptions options_;
  const std::unique_ptr<ModelClient> client_;
  const ModelDescription description_;
  const std::unique_ptr<DeviceSource> device_;  // null: has no source
  const ServerProbe probe_;
  uint64_t request_bytes_ = 0;
  // Outlive the target, which sends their requests.
  std::vector<std::unique_ptr<SharedTensors>> shared_;
  std::unique_ptr<GrpcTarget> target_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_MEASURED_SERVER_H_
