// Implements the answers about settings, under tritonserver's names.
#include "server/grpc/settings_answers.h"

#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "server/client_text.h"
#include "server/grpc/status.h"

namespace ferry {
namespace {

constexpr const char* kTraceSettings[][2] = {
    {"trace_level", "OFF"}, {"trace_rate", "1000"}, {"trace_count", "-1"},
    {"log_frequency", "0"}, {"trace_file", ""},     {"trace_mode", "triton"},
};

grpc::Status ReadOnly(const std::string& name, const char* instead) {
  return {grpc::StatusCode::UNIMPLEMENTED,
          absl::StrCat("setting '", Shown(name),
                       "': settings can be read, not changed; ", instead)};
}

}  // namespace

grpc::Status AnswerTraceSetting(const ModelTable& models,
                                const inference::TraceSettingRequest& request,
                                inference::TraceSettingResponse& response) {
  if (!request.model_name().empty()) {
    const absl::StatusOr<ModelUse> entry =
        models.Find(request.model_name(), "");
    if (!entry.ok()) {
      return ToGrpcStatus(entry.status());
    }
  }
  if (!request.settings().empty()) {
    return ReadOnly(request.settings().begin()->first,
                    "tracing is set by --trace-file and --otlp-endpoint");
  }
  for (const auto& [name, value] : kTraceSettings) {
    (*response.mutable_settings())[name].add_value(value);
  }
  return grpc::Status::OK;
}

grpc::Status AnswerLogSettings(const inference::LogSettingsRequest& request,
                               inference::LogSettingsResponse& response) {
  if (!request.settings().empty()) {
    return ReadOnly(request.settings().begin()->first,
                    "start the server with --log-level");
  }
  auto& settings = *response.mutable_settings();
  settings["log_file"].set_string_param("");
  settings["log_info"].set_bool_param(spdlog::should_log(spdlog::level::info));
  settings["log_warning"].set_bool_param(
      spdlog::should_log(spdlog::level::warn));
  settings["log_error"].set_bool_param(spdlog::should_log(spdlog::level::err));
  settings["log_verbose_level"].set_uint32_param(
      spdlog::should_log(spdlog::level::debug) ? 1 : 0);
  settings["log_format"].set_string_param("default");
  return grpc::Status::OK;
}

}  // namespace ferry
