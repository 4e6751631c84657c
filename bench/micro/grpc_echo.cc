// grpc-echo answers ModelInfer with fixed bytes and does nothing else: the
// server that is the yardstick of the wire.
//
// Errors: a wrong flag or a busy port is printed and the exit code is 1.
#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/replaced_file.h"
#include "bench/micro/echo_queues.h"
#include "bench/micro/echo_service.h"
#include "flags/parse_flags.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct EchoOptions {
  EchoModel model;
  int port = 8001;
  int queues = 2;
  std::string api = "queues";
  bool copies = false;
  double wait_ms = 0;
  int64_t read_mib = 0;
  std::string json_path;
};

// Blocks SIGINT and SIGTERM in every thread started later, so that
// AwaitSignal() gets them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void AwaitSignal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
}

// Writes what came before the answers where a file is asked for.
bool WriteJson(const EchoOptions& options, const ModelStandIn& stand_in) {
  if (options.json_path.empty()) return true;
  const nlohmann::json result = {{"wait_ms", options.wait_ms},
                                 {"read_mib", options.read_mib},
                                 {"stand_in_us", stand_in.runs_us()}};
  const absl::Status status =
      ReplaceFile(options.json_path, result.dump(2) + "\n");
  if (status.ok()) return true;
  std::fprintf(stderr, "grpc-echo: %s\n",
               std::string(status.message()).c_str());
  return false;
}

int Serve(const EchoOptions& options) {
  const sigset_t signals = BlockSignals();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(options.port),
                           grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Ferry-server sets gRPC so: the yardstick pays for nothing that it does not.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  QueueEchoService queue_service;
  CallbackEchoService callback_service(options.model);
  ModelStandIn stand_in(options.read_mib, Milliseconds(options.wait_ms));
  std::unique_ptr<EchoQueues> queues;
  if (options.api == "queues") {
    builder.RegisterService(&queue_service);
    queues = std::make_unique<EchoQueues>(
        &queue_service, options.model,
        options.copies ? EchoAnswer::kByCopy : EchoAnswer::kFixed, &stand_in,
        &builder, options.queues);
  } else {
    builder.RegisterService(&callback_service);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "grpc-echo: cannot listen on 127.0.0.1:%d\n",
                 options.port);
    return 1;
  }
  if (queues != nullptr) queues->Start();
  std::printf("grpc-echo listening on 127.0.0.1:%d api=%s\n", port,
              options.api.c_str());
  std::fflush(stdout);
  AwaitSignal(signals);
  server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                gpr_time_from_seconds(1, GPR_TIMESPAN)));
  return WriteJson(options, stand_in) ? 0 : 1;
}

}  // namespace
}  // namespace ferry::bench

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ferry::bench::EchoOptions options;
  CLI::App app{
      "grpc-echo: answers ModelInfer with fixed bytes; measures the wire"};
  app.add_option("--port", options.port, "port on 127.0.0.1; 0 picks one")
      ->check(ferry::IntegerFrom(0, 65535))
      ->capture_default_str();
  app.add_option("--api", options.api, "gRPC server API for ModelInfer")
      ->check(ferry::OneOf({"queues", "callback"}))
      ->capture_default_str();
  app.add_option("--queues", options.queues, "completion queues")
      ->check(ferry::IntegerFrom(1, 64))
      ->capture_default_str();
  app.add_flag("--copy", options.copies,
               "answer with the input, copied as generated code does; with the "
               "api queues");
  app.add_option("--wait-ms", options.wait_ms,
                 "ms to wait before each answer, one at a time, as a request "
                 "does for others of its batch; with the api queues")
      ->check(ferry::NumberFrom(0.0, 1e4))
      ->capture_default_str();
  app.add_option(
         "--read-mib", options.read_mib,
         "MiB of memory to read before each answer, as a model reads its "
         "weights; with the api queues")
      ->check(ferry::IntegerFrom(int64_t{0}, int64_t{1} << 14))
      ->capture_default_str();
  app.add_option(
      "--json", options.json_path,
      "file to write the time of each wait and reading to, at the end");
  app.add_option("--model", options.model.name, "model name it answers with")
      ->capture_default_str();
  app.add_option("--input-elements", options.model.input_elements,
                 "FP32 elements a row of the input")
      ->check(ferry::IntegerFrom(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--output-elements", options.model.output_elements,
                 "FP32 elements a row of the output")
      ->check(ferry::IntegerFrom(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  try {
    ferry::ParseFlags(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return ferry::EndOfParsing("grpc-echo", app, error);
  }
  return ferry::bench::Serve(options);
}
