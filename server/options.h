// ServerOptions holds the flags of ferry-server, with tritonserver's names
// where it has one.
//
// Thread safety: plain values.
// Errors: INVALID_ARGUMENT with one line for the first wrong flag.
#ifndef FERRY_SERVER_OPTIONS_H_
#define FERRY_SERVER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "models/nvml/device_choice.h"
#include "models/repository/model_repository.h"
#include "server/auth/trust_options.h"
#include "server/control/client_shares.h"
#include "server/control/memory_guard.h"
#include "server/control/model_control_options.h"
#include "server/grpc/grpc_options.h"
#include "server/log.h"
#include "server/trace/trace_endpoint.h"

namespace ferry {

// Returns "none", "deflate" or "gzip".
const char* CompressionName(Compression compression);

enum class MetricsListening { kOff, kOn };

enum class MetricNames { kFerrys, kTritonsToo };

struct MetricsOptions {
  MetricsListening listening = MetricsListening::kOn;
  std::string address = "127.0.0.1";
  int port = 8002;  // 0: any free one
  MetricNames names = MetricNames::kFerrys;
};

// The threads that compute and answer have it: higher than those which receive,
// where the system allows it.
enum class Priority { kOfProcess, kRaised };

struct TraceOptions {
  std::string file;  // that spans are appended to; empty: none
  std::optional<TraceEndpoint> endpoint;  // of a collector
  double share = 0;         // that is drawn of requests without a context
  std::string access_log;   // a file that lines are appended to; empty: none
  double access_share = 1;  // of all requests, that have a line

  bool has_spans() const { return !file.empty() || endpoint.has_value(); }
  bool is_on() const { return has_spans() || !access_log.empty(); }
};

struct LifecycleOptions {
  Duration drain_delay{0};
  Duration exit_timeout = Milliseconds(20'000);
  // An instance that is longer at one batch hangs; 0: no limit.
  Duration backend_timeout = Milliseconds(120'000);
  Priority priority = Priority::kRaised;
  std::string reason_file;  // that says why the process ended; empty: none
  // Asks the device that all models share, which may take for ever, and owns
  // what it uses; empty: none is.
  std::function<bool()> is_device_lost;
};

// What the process serves on, and how the flag says it.
struct DeviceOptions {
  std::string text = "cpu";
  nvml::DeviceSelector selector;
};

struct ServerOptions {
  DeviceOptions device;
  ModelRepositoryOptions repository;
  ModelControlOptions control;
  std::vector<std::string> op_libraries;  // paths, in the order of opening
  // Whether the server is not ready while a model of the start cannot be
  // loaded.
  bool is_readiness_strict = true;
  GrpcOptions grpc;
  MetricsOptions metrics;
  TrustOptions trust;
  ClientBounds client;  // of clients that the file of tokens names
  TraceOptions trace;
  LifecycleOptions lifecycle;
  MemoryBounds memory;
  LogOptions log;
};

// What the command line asks for.
struct CommandLine {
  enum class Action { kServe, kPrint, kCheck, kProbeLoad };

  Action action = Action::kServe;
  std::string text;  // kPrint: help or version
  ServerOptions options;
};

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// Returns the flags in force as `name=value` pairs, one line, for the log.
std::string DescribeOptions(const ServerOptions& options);

}  // namespace ferry

#endif  // FERRY_SERVER_OPTIONS_H_
