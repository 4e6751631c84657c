// Diagnose() finds in a recording why a device does no more than it does.
//
// Thread safety: constants and free functions over values.
// Errors: FAILED_PRECONDITION where a recording does not have what any cause is
// told by.
#ifndef FERRY_BENCH_PLAN_DIAGNOSIS_H_
#define FERRY_BENCH_PLAN_DIAGNOSIS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "bench/plan/policy.h"
#include "bench/plan/recording.h"

namespace ferry::plan {

// A bound that the mean of a signal keeps to: at least that share, or at most.
struct Symptom {
  Signal signal;
  bool is_least;
  double bound;
};

struct Cause {
  const char* name;                    // for programs: "small_batches"
  const char* meaning;                 // a clause
  const char* setting;                 // what to change
  absl::Span<const Symptom> symptoms;  // all of them hold
  // These hold where they were sampled; where one was not, confidence is low.
  absl::Span<const Symptom> confirmations;
  // Whether as many requests are under way all the time, too.
  bool has_steady_requests;
};

// Returns each cause that is known; the bounds are Ferry's own.
absl::Span<const Cause> Causes();

enum class Confidence : uint8_t { kLow, kHigh };

struct FoundCause {
  Cause cause;
  std::vector<std::string> evidence;  // "busy 82.0 % (>= 70 %)"
  Confidence confidence = Confidence::kHigh;
};

struct UnknownCause {
  Cause cause;
  std::string reason;
};

struct Diagnosis {
  std::vector<FoundCause> found;
  std::vector<UnknownCause> unknown;
  // Samples that means were taken of: those in which requests came, or all
  // where requests were not sampled.
  size_t samples = 0;
};

// A cause that another one explains is left out: where clients wait for their
// answers, batches are small.
absl::StatusOr<Diagnosis> Diagnose(const Recording& recording);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_DIAGNOSIS_H_
