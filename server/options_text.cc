// Implements DescribeOptions(): shows the flags in force as text.
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/net/listen_sockets.h"
#include "server/options.h"

namespace ferry {
namespace {

const char* ControlModeName(ModelControlMode mode) {
  switch (mode) {
    case ModelControlMode::kPoll:
      return "poll";
    case ModelControlMode::kExplicit:
      return "explicit";
    default:
      return "none";
  }
}

double ToSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

const char* CompressionName(Compression compression) {
  return compression == Compression::kGzip      ? "gzip"
         : compression == Compression::kDeflate ? "deflate"
                                                : "none";
}

std::string DescribeOptions(const ServerOptions& options) {
  const ModelRepositoryOptions& repository = options.repository;
  std::vector<std::string> parts;
  const auto add = [&parts](const char* name, const auto& value) {
    parts.push_back(absl::StrCat(name, "=", value));
  };
  const auto add_if_set = [&add](const char* name, const auto& value) {
    if (value.has_value()) {
      add(name, *value);
    }
  };
  if (repository.single.has_value()) {
    add("model", repository.single->path);
  } else {
    add("model-repository",
        repository.path.empty() ? "(embedded)" : repository.path);
  }
  add("device", options.device.text);
  if (!options.control.load_models.empty()) {
    add("load-model", absl::StrJoin(options.control.load_models, ","));
  }
  add("model-control-mode", ControlModeName(options.control.mode));
  if (options.control.mode == ModelControlMode::kPoll) {
    add("repository-poll-secs", ToSeconds(options.control.poll_interval));
  }
  if (options.control.probe.has_value()) {
    add("probe-load-secs", ToSeconds(options.control.probe->timeout));
    add("probe-load-bytes", options.control.probe->max_bytes);
  }
  if (!options.control.exits_on_error) {
    add("exit-on-error", "false");
    add("strict-readiness", options.is_readiness_strict ? "true" : "false");
  }
  if (!options.op_libraries.empty()) {
    add("op-library", absl::StrJoin(options.op_libraries, ","));
  }
  if (repository.completion == ConfigCompletion::kOff) {
    add("auto-complete-config", "off");
  }
  if (repository.manifests.use == ManifestUse::kRequired) {
    add("require-manifest", "on");
  }
  if (repository.manifests.key.has_value()) {
    add("manifest-key", repository.manifests.key->path());
  }
  const ModelOverrides& overrides = repository.overrides;
  add_if_set("max-batch-size", overrides.max_batch_size);
  if (overrides.max_wait.has_value()) {
    add("max-wait-ms", ToSeconds(*overrides.max_wait) * 1000);
  }
  if (overrides.policy.has_value()) {
    add("policy", PolicyName(*overrides.policy));
  }
  add_if_set("threads", overrides.threads);
  if (repository.device_instances > 0) {
    add("device-instances", repository.device_instances);
  }
  add_if_set("queue-requests", overrides.queue_requests);
  add_if_set("queue-bytes", overrides.queue_bytes);
  add("grpc-infer-thread-count", options.grpc.infer_thread_count);
  add("grpc-max-message-bytes", options.grpc.max_message_bytes);
  add("grpc-memory-bytes", options.grpc.memory_bytes);
  add("grpc-max-unsent-bytes", options.grpc.max_unsent_bytes);
  add("grpc-compression", CompressionName(options.grpc.compression));
  if (options.grpc.max_streams > 0) {
    add("grpc-max-streams", options.grpc.max_streams);
  }
  if (options.grpc.connections.all > 0) {
    add("grpc-max-connections", options.grpc.connections.all);
  }
  if (options.grpc.connections.of_peer > 0) {
    add("grpc-max-connections-per-peer", options.grpc.connections.of_peer);
  }
  if (options.grpc.lives.idle > Duration(0)) {
    add("grpc-max-connection-idle-secs", ToSeconds(options.grpc.lives.idle));
  }
  if (options.grpc.lives.age > Duration(0)) {
    add("grpc-max-connection-age-secs", ToSeconds(options.grpc.lives.age));
    add("grpc-max-connection-age-grace-secs",
        ToSeconds(options.grpc.lives.age_grace));
  }
  add("grpc-reflection",
      options.grpc.reflection == Reflection::kOn ? "on" : "off");
  add("allow-client-shm",
      options.grpc.shared_memory == ClientSharedMemory::kOn ? "on" : "off");
  add("admin-rpc", options.grpc.admin == AdminRpc::kOn ? "on" : "off");
  if (options.grpc.load_trailers == LoadTrailers::kOn) {
    add("endpoint-load-metrics", "on");
  }
  add("status-codes",
      options.grpc.status_codes == StatusCodes::kTriton ? "triton" : "ferry");
  if (options.metrics.names == MetricNames::kTritonsToo) {
    add("metrics-compat", "triton");
  }
  const TrustOptions& trust = options.trust;
  add("tls", !trust.has_tls()              ? "off"
             : trust.tls.client_ca.empty() ? "on"
                                           : "mutual");
  add("auth-token-file", trust.token_file.empty() ? "off" : trust.token_file);
  if (options.client.requests > 0) {
    add("client-max-requests", options.client.requests);
  }
  if (options.client.bytes > 0) {
    add("client-max-bytes", options.client.bytes);
  }
  if (trust.health == HealthAccess::kOpen) {
    add("open-health", "on");
  }
  if (options.grpc.admin_address.has_value()) {
    add("admin-address", HostAndPort(options.grpc.admin_address->host,
                                     options.grpc.admin_address->port));
  }
  if (trust.exposure == Exposure::kInsecure) {
    add("insecure", "on");
  }
  if (options.trace.has_spans()) {
    add("trace-file", options.trace.file.empty() ? "off" : options.trace.file);
    add("otlp-endpoint", options.trace.endpoint.has_value()
                             ? options.trace.endpoint->text
                             : "off");
    add("trace-share", options.trace.share);
  }
  if (!options.trace.access_log.empty()) {
    add("access-log", options.trace.access_log);
    add("access-log-share", options.trace.access_share);
  }
  add("memory-refuse-percent", options.memory.refuse_percent);
  add("memory-end-percent", options.memory.end_percent);
  add("drain-delay-secs", ToSeconds(options.lifecycle.drain_delay));
  add("exit-timeout-secs", ToSeconds(options.lifecycle.exit_timeout));
  add("backend-timeout-secs", ToSeconds(options.lifecycle.backend_timeout));
  add("raised-priority",
      options.lifecycle.priority == Priority::kRaised ? "on" : "off");
  if (!options.lifecycle.reason_file.empty()) {
    add("reason-file", options.lifecycle.reason_file);
  }
  add("log-level", options.log.level);
  if (options.log.format == LogFormat::kJson) {
    add("log-format", "json");
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace ferry
