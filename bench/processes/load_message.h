// LoadOrder and LoadReply are what the processes that share a load tell each
// other, as bytes and back.
//
// Both ends are the same program on the same machine: the bytes are for no file
// and no other version.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT for bytes that are no such message.
#ifndef FERRY_BENCH_PROCESSES_LOAD_MESSAGE_H_
#define FERRY_BENCH_PROCESSES_LOAD_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/load/load_generator.h"
#include "bench/load/load_result.h"

namespace ferry::bench {

// To a worker.
struct LoadOrder {
  enum class What : uint8_t { kOpen, kClosed, kStop };

  What what = What::kStop;
  int32_t outstanding = 0;  // closed: the worker's
  double rate = 0;          // open: of all workers together
  uint64_t seed = 0;        // open
  LoadPlan plan = {};       // all but is_decided
};

std::string Encode(const LoadOrder& order);
absl::StatusOr<LoadOrder> DecodeOrder(const std::string& bytes);

// From a worker. Without an error and a load it says that it is ready.
struct LoadReply {
  std::string error;
  std::unique_ptr<LoadResult> load;
};

std::string Encode(const LoadReply& reply);
absl::StatusOr<LoadReply> DecodeReply(const std::string& bytes);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_LOAD_MESSAGE_H_
