// Policy says what a utilization means, in bands that published articles on GPU
// cost give; they disagree, so each has its name and its source.
//
// Thread safety: constants and free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_POLICY_H_
#define FERRY_BENCH_PLAN_POLICY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ferry::plan {

// A share that is sampled of a device and its server.
enum class Signal : uint8_t {
  // What is used. Policies judge these.
  kLoad,    // of what the device could compute: the one that says how much room
  kBusy,    // whether anything ran on it, as nvidia-smi has it
  kSm,      // of its multiprocessors
  kMemory,  // of its memory, at the highest
  // Why it is no more. Diagnose() looks at these, too.
  kDram,       // of the bandwidth of its memory
  kPcie,       // of what can be copied to it
  kBatchFill,  // rows of a batch, of the most that it may have
  kStage,      // of the time of a batch, until its compute begins
  kPadding,    // of what is computed: zeros that fill a batch or a row
  kRefused,    // of the requests: refused for want of room
};

inline constexpr Signal kSignals[] = {
    Signal::kLoad,    Signal::kBusy,   Signal::kSm,        Signal::kMemory,
    Signal::kDram,    Signal::kPcie,   Signal::kBatchFill, Signal::kStage,
    Signal::kPadding, Signal::kRefused};

inline constexpr Signal kJudgedSignals[] = {Signal::kLoad, Signal::kBusy,
                                            Signal::kSm, Signal::kMemory};

// Returns "load", "busy", .. "batch_fill": the key of a recording.
const char* SignalName(Signal signal);

// Takes the name of one that policies judge.
absl::StatusOr<Signal> ParseSignal(const std::string& name);

enum class Use : uint8_t { kTooLittle, kRight, kTooMuch };

// A band from the end of the one before, 0 at first, to below `end`.
struct Band {
  const char* name;
  double end;  // percent; the last band has no end, and 0 here
  Use use;
  const char* meaning;
};

struct Policy {
  const char* name;
  const char* source;
  absl::Span<const Band> bands;
  // Whether it is of one signal alone, and of which; else the asker chooses.
  bool has_signal;
  Signal signal;
  double least_hours;  // that a recording must cover; 0: any
};

absl::Span<const Policy> Policies();

// Lists those known where there is none of that name.
absl::StatusOr<Policy> FindPolicy(const std::string& name);

// Returns the one band that has that percentage, 0 or more.
absl::StatusOr<Band> BandOf(const Policy& policy, double percent);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_POLICY_H_
