// PlanRoofline() says whether a batch is bound by a device's arithmetic or by
// its memory, and how many rows it takes to be bound by arithmetic.
//
// After the roofline model: Williams, Waterman and Patterson, "Roofline: An
// Insightful Visual Performance Model for Multicore Architectures", 2009.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_ROOFLINE_H_
#define FERRY_BENCH_PLAN_ROOFLINE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace ferry::plan {

struct RooflineInput {
  double flops_per_row = 0;  // operations; a multiply and an add are two
  double bytes_per_row = 0;  // read and written beside the weights
  double weight_bytes = 0;   // read once a batch
  int64_t rows = 1;          // of the batch
  double peak_flops = 0;     // of the device, a second, in the type used
  double peak_bytes = 0;     // of its memory, a second
};

struct Roofline {
  double intensity = 0;  // kIntensity
  double ridge = 0;      // kRidge
  double compute_s = 0;  // kComputeSeconds
  double memory_s = 0;   // kMemorySeconds
  double rows_s = 0;     // kRooflineRate
  // kRidgeRows; nothing: no batch is as large.
  std::optional<double> ridge_rows;

  bool is_memory_bound() const { return memory_s > compute_s; }
};

absl::StatusOr<Roofline> PlanRoofline(const RooflineInput& input);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_ROOFLINE_H_
