// RecordServer() makes a Recording of a running ferry-server by its metrics.
//
// Errors: those of GetServerPage() and ReadMetrics() of the first page;
// FAILED_PRECONDITION where no page has anything to record.
#ifndef FERRY_DEPLOY_CTL_LIVE_RECORDING_H_
#define FERRY_DEPLOY_CTL_LIVE_RECORDING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/http_source.h"
#include "deploy/ctl/metrics_reading.h"

namespace ferry::ctl {

// Reads /metrics now and once in each second that follows, for so many; blocks
// until then. PageRecorder says what becomes of a later page that does not
// come.
absl::StatusOr<plan::Recording> RecordServer(const HttpSource& source,
                                             int64_t seconds,
                                             const DeviceLink& link);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_LIVE_RECORDING_H_
