// Implements Policy: the bands of each, and how one is found.
#include "bench/plan/policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::plan {
namespace {

constexpr Band kProfileBands[] = {
    {"overprovisioned", 25, Use::kTooLittle,
     "less would do: batch, share the device, or take a smaller one"},
    {"underutilized", 60, Use::kTooLittle,
     "there is room: raise the batch, or give it more work"},
    {"well_utilized", 0, Use::kRight, "nothing to change"}};

// Its article leaves 40 to 60 and 80 to 85 without a name; these are Ferry's.
constexpr Band kTargetBands[] = {
    {"consolidate", 40, Use::kTooLittle,
     "fewer devices carry this: put models together, or take a slice"},
    {"low_normal", 60, Use::kRight, "somewhat more room than is needed"},
    {"target", 80, Use::kRight, "nothing to change"},
    {"tight", 85, Use::kTooMuch,
     "little room is left for peaks: plan for more"},
    {"scale_out", 0, Use::kTooMuch, "add a device before requests wait"}};

constexpr Band kSmBands[] = {
    {"low", 60, Use::kTooLittle,
     "bound by memory, or too little work at once: raise the batch"},
    {"good", 85, Use::kRight, "nothing to change"},
    {"high", 0, Use::kTooMuch, "the device computes all that it can"}};

constexpr Band kMemoryBands[] = {
    {"room_for_more", 40, Use::kTooLittle,
     "another model or two fit beside these"},
    {"fine", 80, Use::kRight, "nothing to change"},
    {"high", 95, Use::kTooMuch, "a smaller type or batch takes less"},
    {"runs_out", 0, Use::kTooMuch, "the next allocation may fail"}};

constexpr Band kWeekBands[] = {
    {"mostly_idle", 30, Use::kTooLittle,
     "idle most of the week: share the device, or turn it off in hours"},
    {"overprovisioned", 40, Use::kTooLittle,
     "less than a device's worth over the week: consolidate"},
    {"in_use", 0, Use::kRight, "nothing to change"}};

constexpr Policy kPolicies[] = {
    {.name = "s0-profile",
     .source = "a published article on GPU cost (S0), its profiler's verdict",
     .bands = kProfileBands,
     .has_signal = false,
     .signal = Signal::kLoad,
     .least_hours = 0},
    {.name = "s0-target",
     .source = "the same article's targets; the bands between are Ferry's",
     .bands = kTargetBands,
     .has_signal = false,
     .signal = Signal::kLoad,
     .least_hours = 0},
    {.name = "s1-sm",
     .source = "a published article on GPU cost (S1), of multiprocessors",
     .bands = kSmBands,
     .has_signal = true,
     .signal = Signal::kSm,
     .least_hours = 0},
    {.name = "s1-memory",
     .source = "the same article, of memory",
     .bands = kMemoryBands,
     .has_signal = true,
     .signal = Signal::kMemory,
     .least_hours = 0},
    {.name = "s2-week",
     .source = "a published article on GPU cost (S2), over a full week",
     .bands = kWeekBands,
     .has_signal = false,
     .signal = Signal::kLoad,
     .least_hours = 7 * 24}};

}  // namespace

const char* SignalName(Signal signal) {
  switch (signal) {
    case Signal::kLoad:
      return "load";
    case Signal::kBusy:
      return "busy";
    case Signal::kSm:
      return "sm";
    case Signal::kMemory:
      return "memory";
    case Signal::kDram:
      return "dram";
    case Signal::kPcie:
      return "pcie";
    case Signal::kBatchFill:
      return "batch_fill";
    case Signal::kStage:
      return "stage";
    case Signal::kPadding:
      return "padding";
    case Signal::kRefused:
      return "refused";
  }
  return "";
}

absl::StatusOr<Signal> ParseSignal(const std::string& name) {
  for (const Signal signal : kJudgedSignals) {
    if (name == SignalName(signal)) {
      return signal;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "signal: expected 'load', 'busy', 'sm' or 'memory', got '", name, "'"));
}

absl::Span<const Policy> Policies() { return kPolicies; }

absl::StatusOr<Policy> FindPolicy(const std::string& name) {
  for (const Policy& policy : kPolicies) {
    if (name == policy.name) {
      return policy;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("policy: expected one of ",
                   absl::StrJoin(kPolicies, ", ",
                                 [](std::string* out, const Policy& policy) {
                                   absl::StrAppend(out, policy.name);
                                 }),
                   ", got '", name, "'"));
}

absl::StatusOr<Band> BandOf(const Policy& policy, double percent) {
  if (!(percent >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "utilization: expected a percentage of 0 or more, got ", percent));
  }
  const auto found =
      std::find_if(policy.bands.begin(), policy.bands.end() - 1,
                   [percent](const Band& band) { return percent < band.end; });
  return *found;  // the last one has the rest
}

}  // namespace ferry::plan
