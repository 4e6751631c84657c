// RunOptions holds the flags of `ferry-bench run`.
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_COMMANDS_RUN_OPTIONS_H_
#define FERRY_BENCH_COMMANDS_RUN_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/client/connection.h"
#include "bench/client/grpc_target.h"
#include "bench/client/request_class.h"
#include "bench/client/request_pool.h"
#include "bench/commands/scenario.h"
#include "bench/report/fail_if.h"
#include "bench/report/report_files.h"
#include "bench/search/sweep.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// What requests bring for the inputs of a model, as typed.
struct InputFlags {
  std::vector<std::string> shapes;
  std::vector<std::string> ranges;
};

struct RunOptions {
  std::string address = "127.0.0.1:8001";
  std::string model = "mlp";
  std::string label;            // empty: the model's name
  ConnectionFlags connection;   // read into `target`
  std::string metrics_address;  // empty: ModelStatistics only
  std::string nvml;  // the server's device, on this machine; empty: not told
  ReportFiles files;
  std::string log_path;  // empty: not written
  std::vector<std::string> fail_if;
  InputFlags inputs;
  std::vector<std::string> class_texts;
  std::string data_order = "turn";   // or "random"
  std::string arrivals = "poisson";  // as ParseArrivals() takes them
  std::string scenario;              // as ParseScenario(); empty: none
  double warm_up_s = 2;
  double duration_s = 5;
  bool has_duration = false;  // it was given
  double wait_ready_s = 10;
  double deadline_ms = 0;
  double timeout_ms = 0;
  bool shared_memory = false;  // tensors are there, not in messages
  double slo_ms = 0;           // of the goodput; 0: none
  RequestPoolOptions requests;
  GrpcTargetOptions target;
  OfflineScenario offline;  // of `scenario`
  SweepOptions sweep;       // without `offline`, which takes the model
  std::vector<Condition> conditions;
  std::vector<RequestClass> classes;  // at least one
  int32_t processes = 1;              // that send
  int32_t as_process = -1;  // which of them this one is; below 0: none
  std::map<std::string, std::string> flags;  // as they took effect

  // Whether this process itself sends.
  bool sends() const { return processes == 1 || as_process >= 0; }
};

// Returns the flags of a parsed command that have a value, by name.
std::map<std::string, std::string> EffectiveFlags(const CLI::App& command);

// Each adds flags to `command`, whose parsing fills `options`, which outlives
// it.
void AddServerFlags(CLI::App& command, RunOptions& options);
void AddRequestFlags(CLI::App& command, RunOptions& options);
// Adds those of these that say what requests bring, all alike.
void AddContentFlags(CLI::App& command, RunOptions& options);
// Adds single ones of them.
void AddRowsFlag(CLI::App& command, RunOptions& options);
void AddTimeoutFlag(CLI::App& command, RunOptions& options);
void AddInputFlags(CLI::App& command, InputFlags& flags);
// Which loads; after AddWindowFlags() and what has --rows.
void AddLoadFlags(CLI::App& command, RunOptions& options);
// How many processes send them.
void AddProcessFlags(CLI::App& command, RunOptions& options);
// How long and how much of a load, and the closed loop for the saturation.
void AddWindowFlags(CLI::App& command, RunOptions& options);
void AddReportFlags(CLI::App& command, RunOptions& options);
// The bound of the goodput.
void AddGoodputFlag(CLI::App& command, RunOptions& options);
// All of these.
void AddRunFlags(CLI::App& command, RunOptions& options);

// Reads the flags into `requests`. Errors: those of the readers.
absl::Status ReadInputs(const InputFlags& flags, RequestPoolOptions& requests);

// Returns the options with shapes, ranges, classes, arrivals, scenario and
// conditions read and durations converted, and with default loads where none
// were given: a trace's own rate, for whole rounds of it where no duration was
// given, or else shares of saturation. Errors: those of the readers;
// INVALID_ARGUMENT where arrivals and loads do not fit, and for a condition of
// the goodput without its bound.
absl::StatusOr<RunOptions> CompleteRunOptions(RunOptions options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_RUN_OPTIONS_H_
