// ModelCounts holds what a version of a model has counted, as a value: it
// outlives the version, and is summed over what took each other's place.
//
// Thread safety: plain values.
#ifndef FERRY_SERVER_CONTROL_MODEL_COUNTS_H_
#define FERRY_SERVER_CONTROL_MODEL_COUNTS_H_

#include <cstdint>
#include <vector>

#include "batcher/statistics.h"

namespace ferry {

struct ModelCounts {
  SchedulerStatistics counted{0};
  uint64_t invalid_requests = 0;   // that failed the codec's checks
  uint64_t client_refusals = 0;    // for lack of their client's share
  uint64_t memory_refusals = 0;    // while the process was short of memory
  uint64_t arrived_rows = 0;       // admitted, or refused for lack of room
  uint64_t received_bytes = 0;     // of messages that passed the checks
  uint64_t sent_bytes = 0;         // of replies
  uint64_t overdue_batches = 0;    // that took far longer than predicted
  uint64_t precision_changes = 0;  // from bf16, while it served
  std::vector<DeviceCount> device_events;
};

struct BatchTotals {
  uint64_t batches = 0;
  uint64_t rows = 0;  // of them
};

// Returns the sums over batches of all sizes.
BatchTotals TotalsOf(const BatchStatistics& served);

// Returns the requests that named the model and were not admitted.
uint64_t RefusedRequests(const ModelCounts& counts);
// Returns those that were admitted and got an error.
uint64_t FailedRequests(const BatchStatistics& served);

// Adds what is a count. What is a state (the queue, the line of service times)
// stays that of `sum`.
void Add(const ModelCounts& more, ModelCounts& sum);

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_COUNTS_H_
