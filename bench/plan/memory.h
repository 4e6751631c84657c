// PlanMemory() says how many bytes a model takes to serve: its weights, and the
// activations of a batch.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_MEMORY_H_
#define FERRY_BENCH_PLAN_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace ferry::plan {

struct MemoryInput {
  double weight_bytes = 0;
  double activation_bytes_per_row = 0;  // may be 0: not known
  int64_t rows = 1;                     // of a batch
};

struct MemoryNeed {
  double activation_bytes = 0;  // kActivationBytes
  double total_bytes = 0;       // kMemoryBytes
};

absl::StatusOr<MemoryNeed> PlanMemory(const MemoryInput& input);

// Returns kWeightBytes. `bytes_per_parameter`: 4 of fp32, 2 of bf16, 1 of int8.
absl::StatusOr<double> WeightBytes(double parameters,
                                   double bytes_per_parameter);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_MEMORY_H_
