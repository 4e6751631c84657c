// Implements ParseCommandLine(): the flags, in groups as --help shows them.
#include "server/options.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flags/parse_flags.h"
#include "flags/value_checks.h"
#include "models/config/override_flags.h"
#include "server/memory_limit.h"
#include "server/single_model_flags.h"
#include "server/version.h"

namespace ferry {
namespace {

constexpr int kMaxPort = 65535;
constexpr int kMaxInferThreads = 64;
constexpr int kMaxStreams = 1 << 16;
constexpr int kMaxConnections = 1 << 20;
constexpr int kMaxPercent = 100;
constexpr int64_t kMinMessageBytes = 1 << 10;
constexpr int64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();
constexpr double kMaxSeconds = 86400;

// Holds flags that need a step between the text and the options.
struct RawFlags {
  SingleModelFlags single;
  bool no_completion = false;
  bool require_manifest = false;
  std::optional<std::string> manifest_key;
  std::optional<int> metrics_port;
  std::optional<int64_t> grpc_memory_bytes;
  std::string compression = "none";
  std::string metrics_compat = "none";
  std::string otlp_endpoint;
  std::string log_format = "text";
  bool no_raised_priority = false;
  bool grpc_reflection = false;
  bool allow_client_shm = false;
  std::string admin_address;
  bool open_health = false;
  bool insecure = false;
  bool admin_rpc = false;
  bool triton_status_codes = false;
  bool load_trailers = false;
  bool check_config = false;
  std::string control_mode = "none";
  std::string probe_loads = "auto";
  double probe_load_s = 300;
  int64_t probe_load_bytes = 0;
  bool run_probe_load = false;
  double poll_s = 15;
  double idle_s = 0;
  double age_s = 0;
  double age_grace_s = 60;
  double drain_delay_s = 0;
  double exit_timeout_s = 20;
  double backend_timeout_s = 120;
};

ModelControlMode ParseControlMode(const std::string& text) {
  return text == "poll"       ? ModelControlMode::kPoll
         : text == "explicit" ? ModelControlMode::kExplicit
                              : ModelControlMode::kNone;
}

Duration Seconds(double seconds) { return Milliseconds(seconds * 1000); }

void AddModelFlags(CLI::App& app, RawFlags& raw, ServerOptions& options) {
  ModelRepositoryOptions& repository = options.repository;
  const char* const models = "Models";
  app.add_option("--model-repository", repository.path,
                 "folder of models; none: the embedded models")
      ->check([](const std::string& path) {
        return std::string(path.empty() ? "expected a folder, got nothing"
                                        : "");
      })
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->type_name("DIR")
      ->group(models);
  app.add_option(
         "--load-model", options.control.load_models,
         "serve only this model; may be given more than once; '*': all; "
         "without a repository: mlp, resnet50 or encoder")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(models);
  app.add_option("--model-control-mode", raw.control_mode,
                 "none: what is loaded at start stays; poll: look at the "
                 "repository again from time to time; explicit: clients load "
                 "and unload, at start only what --load-model names is loaded")
      ->check(OneOf({"none", "poll", "explicit"}))
      ->capture_default_str()
      ->group(models);
  app.add_option("--repository-poll-secs", raw.poll_s,
                 "how often the mode poll looks")
      ->check(NumberFrom(0.1, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(models);
  app.add_option("--probe-loads", raw.probe_loads,
                 "load each model's files in a process of its own first, so "
                 "that a crash or a hang in them fails their load and not the "
                 "server; auto: on in the modes poll and explicit")
      ->check(OneOf({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(models);
  app.add_option("--probe-load-secs", raw.probe_load_s,
                 "a probe load that takes longer than this has failed")
      ->check(NumberFrom(0.1, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(models);
  app.add_option("--probe-load-bytes", raw.probe_load_bytes,
                 "a probe load whose process has more memory resident than "
                 "this has failed; 0: no bound but the system's, which ends "
                 "that process before the server")
      ->check(IntegerFrom(int64_t{0}, int64_t{1} << 44))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group(models);
  // What the process of a probe load is started with.
  app.add_flag("--run-probe-load", raw.run_probe_load)->group("");
  app.add_option("--exit-on-error", options.control.exits_on_error,
                 "a model that cannot be loaded at start ends the server; "
                 "false: the others serve, the index says why it does not")
      ->check(IsBool())
      ->default_str("true")
      ->group(models);
  app.add_option("--strict-readiness", options.is_readiness_strict,
                 "not ready while a model of the start cannot be loaded, with "
                 "--exit-on-error=false; false: ready without it")
      ->check(IsBool())
      ->default_str("true")
      ->group(models);
  app.add_option("--op-library", options.op_libraries,
                 "library of custom operators that models call, opened before "
                 "they are loaded; may be given more than once")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(models);
  app.add_flag("--require-manifest", raw.require_manifest,
               "refuse a model of --model-repository unless each of its files "
               "is in a MANIFEST.sha256, as sha256sum prints it; one that is "
               "there is always checked")
      ->needs("--model-repository")
      ->group(models);
  app.add_option("--manifest-key", raw.manifest_key,
                 "public Ed25519 key in PEM: require manifests, each with the "
                 "raw signature of this key in MANIFEST.sha256.sig beside it, "
                 "as scripts/sign_model.sh makes it")
      ->needs("--model-repository")
      ->type_name("FILE")
      ->group(models);
  app.add_flag("--check-config", raw.check_config,
               "load every model, print what is wrong and the configs in "
               "force, and exit: 0 where all can be served")
      ->group(models);
  app.add_flag(
         "--disable-auto-complete-config", raw.no_completion,
         "refuse a model whose config.pbtxt is missing or lacks inputs or "
         "outputs, also where its file says them")
      ->group(models);
  app.add_option("--device-instances", repository.device_instances,
                 "batches that several models together compute at once, shared "
                 "by their parameter 'ferry.weight'; 0: one a core")
      ->check(IntegerFrom(0, 1024))
      ->type_name("N")
      ->group(models);
}

void AddDeviceFlag(CLI::App& app, DeviceOptions& device) {
  app.add_option("--device", device.text,
                 "what this process serves on, one device: cpu; only, the one "
                 "that NVML sees, as in a container with one; cuda:N, as "
                 "nvidia-smi counts, where MIG is off; or the UUID of a GPU or "
                 "MIG device, as nvidia-smi -L prints it")
      ->type_name("cpu|only|cuda:N|GPU-UUID|MIG-UUID")
      ->capture_default_str()
      ->group("Device");
}

void AddGrpcFlags(CLI::App& app, RawFlags& raw, GrpcOptions& grpc) {
  const char* const group = "gRPC";
  app.add_option(
         "--grpc-address", grpc.address,
         "IP address to listen on, a host name that has one or more, or "
         "unix:FILE, a UNIX socket of the mode 0660")
      ->type_name("HOST")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-port", grpc.port, "port; 0 picks a free one")
      ->check(IntegerFrom(0, kMaxPort))
      ->type_name("PORT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-infer-thread-count", grpc.infer_thread_count,
                 "threads, each with its completion queue, that serve "
                 "ModelInfer")
      ->check(IntegerFrom(1, kMaxInferThreads))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-max-message-bytes", grpc.max_message_bytes,
                 "bytes of one received message at most")
      ->check(IntegerFrom(kMinMessageBytes, kMaxMessageBytes))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-memory-bytes", raw.grpc_memory_bytes,
                 "bytes of requests that come in or are queued, at most; past "
                 "it gRPC closes connections: at least the sum of the models' "
                 "queues. Not given: a quarter of the memory that the machine "
                 "has or the control group allows, at least one queue and 2 of "
                 "the largest messages, at most 16 of them or 1 GiB")
      ->check(IntegerFrom(kMinMessageBytes, int64_t{1} << 44))
      ->type_name("BYTES")
      ->group(group);
  app.add_option("--grpc-max-unsent-bytes", grpc.max_unsent_bytes,
                 "bytes of replies that clients have not read, at most; past "
                 "it the calls of the oldest that wait for over a second are "
                 "cancelled, and small RPCs have no large replies")
      ->check(IntegerFrom(int64_t{1} << 20, int64_t{1} << 44))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-compression", raw.compression,
                 "compress replies for clients that take it, and take requests "
                 "compressed so; gRPC inflates a request before it looks at "
                 "its size, so 1 MB sent may take 1 GB here: for trusted "
                 "clients only; none refuses what is compressed")
      ->check(OneOf({"none", "deflate", "gzip"}))
      ->capture_default_str()
      ->group(group);
  app.add_option(
         "--grpc-max-streams", grpc.max_streams,
         "calls that one connection may have under way, a stream being "
         "one; more wait at the client. Not given: four batches an instance of "
         "the largest model at the start, at least 256, at most 4096")
      ->check(IntegerFrom(1, kMaxStreams))
      ->type_name("N")
      ->group(group);
  app.add_option("--grpc-max-connections", grpc.connections.all,
                 "connections at once, at most; one more is closed at once. "
                 "Not given: as many as there are descriptors, but for 64")
      ->check(IntegerFrom(1, kMaxConnections))
      ->type_name("N")
      ->group(group);
  app.add_option("--grpc-max-connections-per-peer", grpc.connections.of_peer,
                 "the same of one IP address, or IPv6 network of 64 bits; not "
                 "given: no bound. Clients behind one proxy are one peer")
      ->check(IntegerFrom(1, kMaxConnections))
      ->type_name("N")
      ->group(group);
  app.add_option("--grpc-max-connection-idle-secs", raw.idle_s,
                 "end a connection that has had no call for that long; its "
                 "client opens another with its next call, but one that comes "
                 "at that moment is UNAVAILABLE; 0: never")
      ->check(NumberFrom(0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-max-connection-age-secs", raw.age_s,
                 "tell clients to open another connection after that long, so "
                 "that they spread over servers that have come; 0: never")
      ->check(NumberFrom(0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_option("--grpc-max-connection-age-grace-secs", raw.age_grace_s,
                 "what calls of the old connection have, streams for one, "
                 "before they are cut; 0: no bound")
      ->check(NumberFrom(0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--allow-client-shm", raw.allow_client_shm,
               "clients of this machine may pass tensors in system shared "
               "memory that they register; not beside an address that other "
               "machines reach")
      ->group(group);
  app.add_flag("--grpc-reflection", raw.grpc_reflection,
               "offer the reflection service (for grpcurl)")
      ->group(group);
  app.add_flag("--admin-rpc", raw.admin_rpc,
               "offer ferry.v1.Admin: a client with the scope admin may change "
               "policy, batch size and queue bounds, and end the server")
      ->group(group);
  app.add_flag("--triton-status-codes", raw.triton_status_codes,
               "answer UNAVAILABLE where the queue is full, as Triton does")
      ->group(group);
  app.add_flag("--endpoint-load-metrics", raw.load_trailers,
               "tell the server's load with each reply of ModelInfer, in the "
               "trailer endpoint-load-metrics-bin (ORCA), for balancers")
      ->group(group);
}

std::string CheckFileName(const std::string& path) {
  return path.empty() ? "expected a file, got nothing" : "";
}

void AddTrustFlags(CLI::App& app, RawFlags& raw, TrustOptions& trust,
                   ClientBounds& client) {
  const char* const group = "Trust";
  CLI::Option* const certificate =
      app.add_option("--tls-cert", trust.tls.certificate,
                     "TLS for gRPC and HTTP, with this certificate and those "
                     "that signed it, as PEM; it is read again when it "
                     "changes, and so are the files below")
          ->check(CheckFileName)
          ->type_name("FILE")
          ->group(group);
  CLI::Option* const key =
      app.add_option("--tls-key", trust.tls.key,
                     "its key, as PEM, which others on this machine may not "
                     "read")
          ->check(CheckFileName)
          ->type_name("FILE")
          ->needs(certificate)
          ->group(group);
  certificate->needs(key);
  app.add_option("--tls-client-ca", trust.tls.client_ca,
                 "clients of gRPC need a certificate that one of these signed")
      ->check(CheckFileName)
      ->type_name("FILE")
      ->needs(certificate)
      ->group(group);
  app.add_option("--auth-token-file", trust.token_file,
                 "clients that may ask, one a line: NAME SCOPES sha256:DIGEST "
                 "of a token, or NAME SCOPES cert:NAME of a certificate; the "
                 "scopes are infer, read and admin, with commas between")
      ->check(CheckFileName)
      ->type_name("FILE")
      ->group(group);
  app.add_option("--client-max-requests", client.requests,
                 "requests that one client of --auth-token-file may have under "
                 "way, at most; 0: no bound")
      ->check(IntegerFrom(0, int64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--client-max-bytes", client.bytes,
                 "the same in bytes of them; a single larger request is "
                 "served; 0: no bound")
      ->check(IntegerFrom(0, int64_t{1} << 44))
      ->type_name("BYTES")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--open-health", raw.open_health,
               "health needs no token, as for probes")
      ->group(group);
  app.add_option("--admin-address", raw.admin_address,
                 "HOST:PORT or unix:FILE where alone clients load, unload and "
                 "change options; else they do at --grpc-address")
      ->check([](const std::string& address) {
        return std::string(address.empty() ? "expected an address, got nothing"
                                           : "");
      })
      ->type_name("ADDRESS")
      ->group(group);
  app.add_flag("--insecure", raw.insecure,
               "let other machines reach addresses without TLS, or without "
               "being known")
      ->group(group);
}

void AddProcessFlags(CLI::App& app, RawFlags& raw, ServerOptions& options) {
  const char* const metrics = "Metrics and health over HTTP";
  app.add_option("--metrics-address", options.metrics.address,
                 "address to listen on")
      ->type_name("IP")
      ->capture_default_str()
      ->group(metrics);
  app.add_option("--metrics-port", raw.metrics_port,
                 "port of /metrics and /v2/health; 0 turns it off [8002]")
      ->check(IntegerFrom(0, kMaxPort))
      ->type_name("PORT")
      ->group(metrics);
  app.add_option("--metrics-compat", raw.metrics_compat,
                 "give /metrics the names of another server, too: triton adds "
                 "nv_inference_* and nv_gpu_*")
      ->check(OneOf({"none", "triton"}))
      ->capture_default_str()
      ->group(metrics);

  const char* const tracing = "Tracing";
  app.add_option("--trace-file", options.trace.file,
                 "append spans to this file, as OTLP's JSON in lines; also of "
                 "requests that fail, and of the slowest of each second")
      ->type_name("FILE")
      ->group(tracing);
  app.add_option("--otlp-endpoint", raw.otlp_endpoint,
                 "send spans to this collector, as JSON by OTLP/HTTP")
      ->type_name("URL")
      ->group(tracing);
  app.add_option("--trace-share", options.trace.share,
                 "share of the requests that are traced of those whose client "
                 "sent no traceparent; the others where it says so")
      ->check(NumberFrom(0.0, 1.0))
      ->type_name("0-1")
      ->capture_default_str()
      ->group(tracing);
  app.add_option("--access-log", options.trace.access_log,
                 "append a line of JSON for each inference to this file")
      ->type_name("FILE")
      ->group(tracing);
  app.add_option("--access-log-share", options.trace.access_share,
                 "share of the inferences that have a line in --access-log")
      ->check(NumberFrom(0.0, 1.0))
      ->type_name("0-1")
      ->capture_default_str()
      ->group(tracing);

  const char* const memory = "Memory";
  app.add_option("--memory-refuse-percent", options.memory.refuse_percent,
                 "refuse requests larger than 64 KiB while the process uses "
                 "more than that of the memory that the machine has or the "
                 "control group allows; 0: never")
      ->check(IntegerFrom(0, kMaxPercent))
      ->type_name("0-100")
      ->capture_default_str()
      ->group(memory);
  app.add_option("--memory-end-percent", options.memory.end_percent,
                 "past that, finish what was admitted and end, before the "
                 "system ends the process; 0: never")
      ->check(IntegerFrom(0, kMaxPercent))
      ->type_name("0-100")
      ->capture_default_str()
      ->group(memory);

  const char* const lifecycle = "Stopping and logging";
  app.add_option("--exit-timeout-secs", raw.exit_timeout_s,
                 "on SIGTERM or SIGINT: finish what was admitted within this")
      ->check(NumberFrom(0.0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(lifecycle);
  app.add_option("--drain-delay-secs", raw.drain_delay_s,
                 "before that: not ready, but still serving, for balancers")
      ->check(NumberFrom(0.0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(lifecycle);
  app.add_option(
         "--backend-timeout-secs", raw.backend_timeout_s,
         "an instance that is at one batch for longer than this hangs, and "
         "the process exits; 0: no limit")
      ->check(NumberFrom(0.0, kMaxSeconds))
      ->type_name("S")
      ->capture_default_str()
      ->group(lifecycle);
  app.add_flag("--no-raised-priority", raw.no_raised_priority,
               "leave the threads that compute the priority of those that "
               "receive; else it is raised where the system allows "
               "that (CAP_SYS_NICE or RLIMIT_NICE)")
      ->group(lifecycle);
  app.add_option("--reason-file", options.lifecycle.reason_file,
                 "write why the process ends to this file, in at most 4096 "
                 "bytes, where its exit code is not 0 or it crashes; such as "
                 "/dev/termination-log, which Kubernetes shows")
      ->check(CheckFileName)
      ->type_name("FILE")
      ->group(lifecycle);
  app.add_option("--log-level", options.log.level, "least level logged")
      ->check(OneOf({"debug", "info", "warning", "error"}))
      ->capture_default_str()
      ->group(lifecycle);
  app.add_option("--log-format", raw.log_format,
                 "text, or json: an object a line")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str()
      ->group(lifecycle);
}

absl::Status CompleteSingle(const RawFlags& raw, ServerOptions& options) {
  if (raw.single.path.empty()) {
    return absl::OkStatus();
  }
  absl::StatusOr<SingleModel> single = DescribeSingleModel(raw.single);
  if (!single.ok()) {
    return single.status();
  }
  options.control.load_models = {single->name};
  options.repository.single = *std::move(single);
  return absl::OkStatus();
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  if (absl::StartsWith(text, "unix:")) {
    return ListenAddress{.host = text};
  }
  const size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &address.port) ||
      address.port < 0 || address.port > kMaxPort) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--admin-address: expected HOST:PORT, [IPv6]:PORT or unix:FILE, got '",
        text, "'"));
  }
  address.host = text.substr(0, colon);
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  return address;
}

absl::Status CompleteTrust(const RawFlags& raw, ServerOptions& options) {
  if (!raw.admin_address.empty()) {
    absl::StatusOr<ListenAddress> address =
        ParseListenAddress(raw.admin_address);
    if (!address.ok()) {
      return address.status();
    }
    options.grpc.admin_address = *std::move(address);
  }
  TrustOptions& trust = options.trust;
  const ClientBounds& client = options.client;
  if (trust.token_file.empty() && (client.requests > 0 || client.bytes > 0)) {
    return absl::InvalidArgumentError(
        "--client-max-requests and --client-max-bytes: expected "
        "--auth-token-file beside them, which names clients, got none");
  }
  if (raw.open_health) {
    trust.health = HealthAccess::kOpen;
  }
  if (raw.insecure) {
    trust.exposure = Exposure::kInsecure;
  }
  return absl::OkStatus();
}

// Reads the key: what serves, checks or probes has that of its start.
absl::Status CompleteManifests(const RawFlags& raw,
                               ModelRepositoryOptions& repository) {
  if (raw.require_manifest || raw.manifest_key.has_value()) {
    repository.manifests.use = ManifestUse::kRequired;
  }
  if (!raw.manifest_key.has_value()) {
    return absl::OkStatus();
  }
  absl::StatusOr<Ed25519Key> key = Ed25519Key::Read(*raw.manifest_key);
  if (!key.ok()) {
    return absl::Status(
        key.status().code(),
        absl::StrCat("--manifest-key: ", key.status().message()));
  }
  repository.manifests.key = *std::move(key);
  return absl::OkStatus();
}

absl::Status Complete(const RawFlags& raw, ServerOptions& options) {
  if (absl::Status status = CompleteTrust(raw, options); !status.ok()) {
    return status;
  }
  const auto device = nvml::ParseDevice(options.device.text);
  if (!device.ok()) {
    return device.status();
  }
  options.device.selector = *device;
  if (raw.metrics_port.has_value()) {
    options.metrics.port = *raw.metrics_port;
    options.metrics.listening =
        *raw.metrics_port == 0 ? MetricsListening::kOff : MetricsListening::kOn;
  }
  if (!raw.otlp_endpoint.empty()) {
    absl::StatusOr<TraceEndpoint> endpoint =
        ParseTraceEndpoint(raw.otlp_endpoint);
    if (!endpoint.ok()) {
      return endpoint.status();
    }
    options.trace.endpoint = *std::move(endpoint);
  }
  if (options.trace.share > 0 && !options.trace.has_spans()) {
    return absl::InvalidArgumentError(
        "--trace-share: expected --trace-file or --otlp-endpoint beside it");
  }
  if (options.trace.access_share < 1 && options.trace.access_log.empty()) {
    return absl::InvalidArgumentError(
        "--access-log-share: expected --access-log beside it");
  }
  if (raw.metrics_compat == "triton") {
    options.metrics.names = MetricNames::kTritonsToo;
  }
  if (raw.log_format == "json") {
    options.log.format = LogFormat::kJson;
  }
  if (raw.no_raised_priority) {
    options.lifecycle.priority = Priority::kOfProcess;
  }
  if (raw.allow_client_shm) {
    options.grpc.shared_memory = ClientSharedMemory::kOn;
  }
  if (raw.grpc_reflection) {
    options.grpc.reflection = Reflection::kOn;
  }
  for (const Compression compression :
       {Compression::kDeflate, Compression::kGzip}) {
    if (raw.compression == CompressionName(compression)) {
      options.grpc.compression = compression;
    }
  }
  GrpcOptions& grpc = options.grpc;
  grpc.memory_bytes = raw.grpc_memory_bytes.value_or(DefaultGrpcMemory(
      MemoryLimit(), grpc.max_message_bytes,
      options.repository.overrides.queue_bytes.value_or(QueueBounds().bytes)));
  if (grpc.memory_bytes < grpc.max_message_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--grpc-memory-bytes: expected at least --grpc-max-message-bytes, ",
        grpc.max_message_bytes, ", got ", grpc.memory_bytes));
  }
  if (raw.load_trailers) {
    options.grpc.load_trailers = LoadTrailers::kOn;
  }
  if (raw.admin_rpc) {
    options.grpc.admin = AdminRpc::kOn;
  }
  if (raw.triton_status_codes) {
    options.grpc.status_codes = StatusCodes::kTriton;
  }
  if (raw.no_completion) {
    options.repository.completion = ConfigCompletion::kOff;
  }
  if (absl::Status status = CompleteManifests(raw, options.repository);
      !status.ok()) {
    return status;
  }
  options.grpc.lives = {.idle = Seconds(raw.idle_s),
                        .age = Seconds(raw.age_s),
                        .age_grace = Seconds(raw.age_grace_s)};
  options.lifecycle.drain_delay = Seconds(raw.drain_delay_s);
  options.lifecycle.exit_timeout = Seconds(raw.exit_timeout_s);
  options.lifecycle.backend_timeout = Seconds(raw.backend_timeout_s);
  options.control.mode = ParseControlMode(raw.control_mode);
  options.control.poll_interval = Seconds(raw.poll_s);
  if (raw.probe_loads == "on" ||
      (raw.probe_loads == "auto" &&
       options.control.mode != ModelControlMode::kNone)) {
    options.control.probe = {.timeout = Seconds(raw.probe_load_s),
                             .max_bytes = raw.probe_load_bytes};
  }
  for (const std::string& name : options.control.load_models) {
    if (name.empty()) {
      return absl::InvalidArgumentError(
          "--load-model: expected a model name, got nothing");
    }
    if (absl::StrContains(name, ',')) {
      return absl::InvalidArgumentError(
          absl::StrCat("--load-model: expected one model name, got '", name,
                       "'; give the flag once for each"));
    }
  }
  return CompleteSingle(raw, options);
}

constexpr char kEarlier[] = "an earlier version";
constexpr char kTriton[] = "tritonserver";
constexpr char kNoSuch[] = "remove it; docs/from-triton.md says why";
constexpr ForeignFlag kForeignFlags[] = {
    // docs/from-triton.md has all
    {"--device-lanes", kEarlier, "write --device-instances"},
    {"--slots", kEarlier,
     "remove it; an instance pulls its batches without it"},
    {"--no-grpc-cork", kEarlier, "remove it; replies are not corked"},
    {"--model-store", kTriton, "write --model-repository"},
    {"--strict-model-config", kTriton,
     "remove it; for true write --disable-auto-complete-config"},
    {"--allow-grpc", kTriton, "remove it; gRPC is served"},
    {"--allow-http", kTriton,
     "remove it; inference is served over gRPC, health on --metrics-port"},
    {"--http-port", kTriton,
     "remove it; inference is served over gRPC, health on --metrics-port"},
    {"--allow-metrics", kTriton, "remove it; for false write --metrics-port=0"},
    {"--log-verbose", kTriton, "write --log-level=debug"},
    {"--log-info", kTriton, "write --log-level"},
    {"--log-warning", kTriton, "write --log-level"},
    {"--log-file", kTriton, "remove it; the log goes to standard error"},
    {"--allow-gpu-metrics", kTriton, "remove it; a GPU's metrics are served"},
    {"--rate-limit", kTriton,
     "remove it; ferry.weight and --device-instances share a device"},
    {"--grpc-use-ssl", kTriton, "remove it; --tls-cert and --tls-key say it"},
    {"--grpc-use-ssl-mutual", kTriton, "remove it; --tls-client-ca says it"},
    {"--grpc-server-cert", kTriton, "write --tls-cert"},
    {"--grpc-server-key", kTriton, "write --tls-key"},
    {"--grpc-root-cert", kTriton, "write --tls-client-ca"},
    {"--grpc-restricted-protocol", kTriton, "write --auth-token-file"},
    {"--grpc-keepalive-time", kTriton, kNoSuch},
    {"--http-thread-count", kTriton, kNoSuch},
    {"--pinned-memory-pool-byte-size", kTriton, kNoSuch},
    {"--cuda-memory-pool-byte-size", kTriton, kNoSuch},
    {"--trace-config", kTriton, kNoSuch},
    {"--cache-config", kTriton, kNoSuch},
    {"--backend-config", kTriton,
     "remove it; each model's config.pbtxt has parameters ferry.*"},
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc,
                                             const char* const* argv) {
  CommandLine result;
  RawFlags raw;
  CLI::App app{
      "ferry-server serves models over gRPC (the Open Inference Protocol, with "
      "Triton's extensions) and batches requests as they come."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", absl::StrCat("ferry-server ", kVersion));
  AddModelFlags(app, raw, result.options);
  AddOverrideFlags(app, result.options.repository.overrides);
  AddSingleModelFlags(app, raw.single);
  AddDeviceFlag(app, result.options.device);
  AddGrpcFlags(app, raw, result.options.grpc);
  AddTrustFlags(app, raw, result.options.trust, result.options.client);
  AddProcessFlags(app, raw, result.options);
  try {  // CLI11 reports by exceptions; none leaves this function
    ParseFlags(app, argc, argv, kForeignFlags);
  } catch (const CLI::CallForHelp&) {
    result.action = CommandLine::Action::kPrint;
    result.text = app.help();
    return result;
  } catch (const CLI::CallForVersion& version) {
    result.action = CommandLine::Action::kPrint;
    result.text = absl::StrCat(version.what(), "\n");
    return result;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(SeeHelp(error));
  }
  if (absl::Status status = Complete(raw, result.options); !status.ok()) {
    return status;
  }
  if (raw.check_config) {
    result.action = CommandLine::Action::kCheck;
  }
  if (raw.run_probe_load) {
    result.action = CommandLine::Action::kProbeLoad;
  }
  return result;
}

}  // namespace ferry
