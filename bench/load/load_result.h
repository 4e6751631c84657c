// LoadResult holds what one run of a load generator measured, and whether to
// trust it.
//
// Thread safety: plain values; the histograms are those of Histogram.
#ifndef FERRY_BENCH_LOAD_LOAD_RESULT_H_
#define FERRY_BENCH_LOAD_LOAD_RESULT_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "bench/load/latency_histogram.h"

namespace ferry::bench {

inline constexpr size_t kCodeCount = 17;  // of absl::StatusCode, 0..16

// One call; times from the begin of the measured window.
struct Stamp {
  Duration planned{0};
  Duration sent{0};
  Duration ended{0};
  size_t of_class = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
};

// The calls of one class.
struct ClassLoad {
  LatencyHistogram latency;  // of successes, from the planned send
  std::array<uint64_t, kCodeCount> ended{};
  uint64_t planned = 0;
};

// The calls planned in one slice of the measured window.
struct LoadSlice {
  LatencyHistogram latency;   // of successes, from the planned send
  LatencyHistogram send_lag;  // actual minus planned send
  uint64_t planned = 0;
  uint64_t failed = 0;
};

struct LoadResult {
  // Counts the calls planned in the measured window, whenever they ended.
  LatencyHistogram latency;            // of successes, from the planned send
  LatencyHistogram latency_from_send;  // of successes, from the actual send
  LatencyHistogram failed_latency;     // of all others, from the planned send
  LatencyHistogram send_lag;           // actual minus planned send; of a
                                       // query none: late sends are meant
  std::array<uint64_t, kCodeCount> ended{};  // by absl::StatusCode
  uint64_t planned = 0;
  uint64_t not_sent = 0;    // planned, but the client never got to it
  uint64_t held_back = 0;   // sent late: max_outstanding calls were under way
  uint64_t unanswered = 0;  // given up after the drain limit
  uint64_t backed_off = 0;  // closed loop: UNAVAILABLE, and a pause after it

  // Successes that ended in the window, whenever they were planned.
  uint64_t ok_in_window = 0;
  Duration window{0};
  bool interrupted = false;
  bool is_open = false;     // an open loop
  bool is_offline = false;  // a query
  bool is_decided = false;  // LoadPlan::is_decided ended it early

  std::deque<Stamp> stamps;  // of all, as they ended; where the plan wants them
  std::vector<ClassLoad> classes;  // none where all calls are of one
  // In order, of equal length; none where the plan wants none. The last ones
  // are empty where it ended early.
  std::vector<LoadSlice> slices;
  Duration slice{0};

  uint64_t ok() const { return ended[0]; }
  uint64_t failed() const;
  double offered_rate() const;   // planned calls per second
  double achieved_rate() const;  // successes per second
};

// Returns why the run says more about the client than about the server, or ""
// where it does not. The rule: void when p99 of the send lag exceeds 1 ms and
// 5 % of p99 latency, when calls were held back or never sent, and when
// nothing was measured; a query also when answers stayed out.
std::string VoidReason(const LoadResult& result);

// What tells its reasons apart, also those that files hold.
inline constexpr char kSentLate[] = "the client was late";
inline constexpr char kNeverSent[] = "the client never sent";
inline constexpr char kHeldBack[] = "waited in the client";

// Returns the code's name as gRPC writes it: "RESOURCE_EXHAUSTED".
std::string CodeName(size_t code);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_LOAD_RESULT_H_
