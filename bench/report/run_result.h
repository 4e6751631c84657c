// RunResult holds all that a report says about one labelled run, its points and
// where they were measured. What JSON files hold and pages show.
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_REPORT_RUN_RESULT_H_
#define FERRY_BENCH_REPORT_RUN_RESULT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/client/server_window.h"
#include "bench/device/device_summary.h"
#include "bench/load/batch_means.h"
#include "bench/load/histogram_record.h"
#include "bench/load/load_result.h"
#include "bench/report/runtime_grid.h"

namespace ferry::bench {

struct LatencySummary {  // microseconds
  double p50_us = 0;
  double p90_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double p9999_us = 0;
  double max_us = 0;
  double mean_us = 0;
};

LatencySummary Summarize(const LatencyHistogram& histogram);

// One slice of a measured window, by when its requests were planned.
struct SliceSummary {
  double end_s = 0;  // from the begin of the window
  uint64_t planned = 0;
  uint64_t failed = 0;
  double p50_us = 0;
  double p99_us = 0;
  double lag_p50_us = 0;  // of the sends
  double lag_p99_us = 0;
};

// One class of requests of a point. Its name is RunResult::classes'.
struct ClassSummary {
  uint64_t planned = 0;
  uint64_t ok = 0;
  std::map<std::string, uint64_t> errors;  // by status code
  LatencySummary latency;
  HistogramRecord histogram;  // of it
};

// What the summaries of a point are of. Empty in older files.
struct PointHistograms {
  HistogramRecord latency;
  HistogramRecord latency_from_send;
  HistogramRecord failed_latency;
  HistogramRecord send_lag;
};

// One load, held for one measured window.
struct PointResult {
  std::string loop;  // "open", "closed" or "offline"
  // Open loop: as ArrivalShape names them; "" in older files, where they are
  // Poisson.
  std::string arrivals;
  int32_t outstanding = 0;   // closed loop; offline, at most
  double target_rate = 0;    // open loop: requests/s asked for
  double offered_rate = 0;   // requests/s planned
  double achieved_rate = 0;  // successes/s
  // Those within RunResult::slo_ms of the planned send; nothing without it.
  std::optional<double> goodput_rate = {};
  std::optional<double> load;       // target rate / saturation rate
  uint64_t query_rows = 0;          // offline: of all its requests
  std::optional<double> rows_rate;  // offline: rows answered/s
  double window_s = 0;
  std::string begun;  // the window, by this machine's clock: UTC, RFC 3339
  uint64_t seed = 0;  // of the arrivals
  uint64_t planned = 0;
  uint64_t ok = 0;
  std::map<std::string, uint64_t> errors;  // by status code, and NOT_SENT,
                                           // UNANSWERED
  LatencySummary latency;                  // from the planned send
  LatencySummary latency_from_send;        // from the actual send
  LatencySummary failed_latency;
  LatencySummary send_lag;
  PointHistograms histograms;
  // `latency`'s, by batch means; nothing where there are too few requests.
  std::optional<Interval> mean_interval;
  std::optional<Interval> p50_interval;
  std::optional<Interval> p99_interval;
  std::vector<SliceSummary> series;
  std::vector<ClassSummary> classes;  // empty where there is one
  std::string unsteady;  // why; empty: nothing speaks against a steady state
  std::optional<double> mean_rows;
  std::optional<double> busy_ratio;
  std::string busy_source;
  // By the server's own count, as ServerWindow has them; empty in older files.
  std::optional<ServerTimes> server_times;
  std::map<uint64_t, uint64_t> batches;
  CloseReasons closed;
  std::optional<DeviceSummary> device;  // by its own counters
  std::string purpose;      // of a search: "bisect: missed"; else empty
  std::string void_reason;  // empty: the numbers stand
  bool interrupted = false;

  uint64_t error_count() const;
};

PointResult Summarize(const LoadResult& load, const ServerWindow& server);

// Where a run was made and with what, beside its processor and kernel. Empty in
// older files, and where the system does not tell.
struct Environment {
  std::string governor;              // of the client's processor
  std::vector<double> load_average;  // before the run: 1, 5 and 15 minutes
  uint64_t memory_bytes = 0;         // of the client's machine
  std::string grpc_version;          // of the client
  std::string compiler;              // of the client
  std::string build = {};            // of the client: BenchIdentity()
  std::vector<std::string> server_extensions;
  std::string instances;                     // "2 x KIND_CPU"
  std::string model_config_sha256 = {};      // as the server tells it
  std::map<std::string, std::string> flags;  // as they took effect
  std::optional<DeviceFacts> device = {};    // the server's; none is told
};

// What a search was for and came to.
struct SearchSummary {
  double slo_ms = 0;
  double percentile = 0;  // of the latency, percent: 99
  double success = 0;     // percent of all; 0: as many as the percentile takes
  std::optional<double> found_rate = {};  // requests/s; none was found
  double client_ceiling = 0;              // RateSearch::client_ceiling()
  double precision = 0;  // share of the rate; 0: not told, in older files
};

// Returns "p99 <= 50 ms", or "p99 <= 50 ms with 99.9 % successes".
std::string DescribeBound(const SearchSummary& search);

struct RunResult {
  std::string label;
  std::string date;     // UTC, RFC 3339
  std::string command;  // as typed
  std::string client_version;
  // Server and model, as they describe themselves.
  std::string server_name;
  std::string server_version;
  std::string address;
  std::string model;
  std::string platform;
  // The server told the model's config: without it max_batch_size is not
  // known, nor is_simulated where it is false.
  bool has_config = true;
  int32_t max_batch_size = 0;
  bool is_simulated = false;
  std::optional<RuntimeSetting>
      runtime_options;               // that the command turned; else none
  double rows_per_request = 1;       // the mean of a mix
  std::vector<std::string> classes;  // of requests, as named; empty: one
  uint64_t request_bytes = 0;
  std::string data;  // file or folder of their contents; empty: random
  // How to send other contents (ContentAdvice()); in no file, and empty there.
  std::string content_advice = {};
  double warm_up_s = 0;
  // MeasuredSaturation(); 0: not measured.
  double saturation_rate = 0;
  std::optional<double> slo_ms = {};  // of the goodput; none was asked for
  std::optional<SearchSummary> search;
  // The machine of the client.
  std::string cpu;
  std::string cpu_flags;  // those that decide the speed of bf16
  int32_t cores = 0;
  std::string kernel;
  Environment environment;
  std::vector<PointResult> points;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_RUN_RESULT_H_
