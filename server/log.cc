// Implements the log with spdlog on standard error.
#include "server/log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace ferry {
namespace {

void LogOfGrpc(gpr_log_func_args* args) {
  spdlog::debug("grpc: {}", args->message);
}

// A client's malformed text must not write a line.
void LogOfProtobuf(google::protobuf::LogLevel, const char*, int,
                   const std::string& message) {
  spdlog::debug("protobuf: {}", message);
}

}  // namespace

void StartLog(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>(
      "ferry", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(&LogOfGrpc);
  google::protobuf::SetLogHandler(&LogOfProtobuf);
}

}  // namespace ferry
