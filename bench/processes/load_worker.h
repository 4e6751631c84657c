// ServeLoads() is the worker's side of a load that several processes share: it
// sends its part of each load that it is told of, until the other side ends.
//
// Thread safety: free functions, from the main thread.
#ifndef FERRY_BENCH_PROCESSES_LOAD_WORKER_H_
#define FERRY_BENCH_PROCESSES_LOAD_WORKER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/arrivals/arrival_shape.h"
#include "bench/load/target.h"
#include "bench/processes/message_channel.h"
#include "bench/processes/sharded_target.h"

namespace ferry::bench {

// Returns the channel to the process that started this one.
// FAILED_PRECONDITION where that process does not listen.
absl::StatusOr<std::unique_ptr<MessageChannel>> ChannelToParent();

// Says that it is ready, and serves. Returns OK once there is nothing more to
// do. Where the other side ends while a load is under way, the process ends.
absl::Status ServeLoads(MessageChannel& channel, Target& target,
                        const ArrivalShape& arrivals, Share share);

// Says why it cannot serve.
absl::Status RefuseLoads(MessageChannel& channel, const absl::Status& why);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_LOAD_WORKER_H_
