// CheckPositive() and its like check the inputs of bench/plan's formulas.
//
// Thread safety: free functions.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_NUMBER_CHECK_H_
#define FERRY_BENCH_PLAN_NUMBER_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace ferry::plan {

// Between these bounds no formula here overflows or divides by nothing.
inline constexpr double kSmallestNumber = 1e-9;
inline constexpr double kLargestNumber = 1e12;
inline constexpr int64_t kMaxReplicas = 1'000'000'000;

// What floating point may add to a whole number.
inline constexpr double kRounding = 1e-12;

// Returns how many whole ones `count` takes; what is within kRounding of a
// whole number counts as it.
double CeilCount(double count);

// Refuses what is not from kSmallestNumber to kLargestNumber: zero, negative
// numbers, NaN and infinity among them. `name` is for the message.
absl::Status CheckPositive(const std::string& name, double value);

// Checks what CheckPositive() does, but zero may pass.
absl::Status CheckNotNegative(const std::string& name, double value);

// Refuses what is no share of lambda_max to plan with, (0, 1].
absl::Status CheckHeadroom(double headroom);

// Refuses what is not from `least` to kMaxReplicas.
absl::Status CheckReplicas(const std::string& name, int64_t value,
                           int64_t least);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_NUMBER_CHECK_H_
