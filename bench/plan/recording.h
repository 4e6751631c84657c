// Recording is what was sampled of a device and its server over a time; its
// Summary has the quantiles that decisions rest on.
//
// Thread safety: plain values and free functions over them.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// FAILED_PRECONDITION where a recording is too short or has gaps.
#ifndef FERRY_BENCH_PLAN_RECORDING_H_
#define FERRY_BENCH_PLAN_RECORDING_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/policy.h"

namespace ferry::plan {

// One value a period; nothing where it was not sampled.
using Samples = std::vector<std::optional<double>>;

struct Recording {
  double period_s = 1;
  size_t size = 0;                    // of each column
  std::map<Signal, Samples> signals;  // shares, [0, ..): above 1 is overload
  Samples power_w;                    // empty: not sampled
  Samples requests_per_second;        // likewise
  // Over so many periods is each rate a mean: its own, and those before it.
  size_t rate_periods = 1;
  Samples requests_under_way;  // at once, means of each period

  double hours() const { return period_s * static_cast<double>(size) / 3600; }
};

// Reads {"format": "ferry-recording/1", "period_seconds", "load", "busy", .. a
// key for each signal, "power_w", "requests_per_second", "requests_under_way"}:
// columns of one length, null for what was not sampled; "rate_periods" is 1
// unless given. Each but the first two may be missing. `name` is for messages.
absl::StatusOr<Recording> ParseRecording(const std::string& text,
                                         const std::string& name);

// Returns the text that ParseRecording() reads.
std::string RecordingJson(const Recording& recording);

// Returns what a column has of a value that was read: nothing where it is no
// number of 0 or more, and 0 where it is less than the smallest that is read.
std::optional<double> SampleOf(double value);

// Removes columns without any value: these were not sampled. `name` is for the
// message where no signal is left.
absl::Status LeaveOutUnknown(Recording& recording, const std::string& name);

// Returns the samples of the periods in which requests came; all of them where
// requests were not sampled. `samples` is a column of the recording.
Samples ActiveSamples(const Recording& recording, const Samples& samples);

struct Summary {
  size_t samples = 0;
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double peak = 0;
};

// A verdict rests on so many samples, and so small a share of missing ones.
inline constexpr size_t kLeastSamples = 30;
inline constexpr double kMostMissing = 0.01;

// Quantiles are samples themselves: the smallest that so large a share is not
// above. Where there are too few samples, or too many are missing, what is
// known does not say how much is used: FAILED_PRECONDITION. `name` is for
// messages.
absl::StatusOr<Summary> Summarize(const Samples& samples,
                                  const std::string& name);

// What the whole hours of a recording say of requests.
struct HourCounts {
  double all = 0;
  double idle = 0;     // each sample says that none came
  double unknown = 0;  // no sample says that one came, and some are missing
};

// Returns nothing where requests were not sampled, there is no whole hour, or
// an hour is no whole number of periods or less than a rate is over. The first
// rates of an hour are over some of the hour before as well: where requests
// came at the end of that, they are taken for the same.
std::optional<HourCounts> CountHours(const Recording& recording);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_RECORDING_H_
