// Implements ModelPages: splits the path, and writes protobuf as JSON.
#include "server/http/model_pages.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/control/model_messages.h"

namespace ferry {
namespace {

HttpReply Json(int code, const nlohmann::json& body) {
  return {.code = code,
          .content_type = "application/json",
          .body = body.dump(-1, ' ', /*ensure_ascii=*/true,
                            nlohmann::json::error_handler_t::replace) +
                  "\n"};
}

nlohmann::json ToJson(
    const google::protobuf::RepeatedPtrField<
        inference::ModelMetadataResponse::TensorMetadata>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& tensor : tensors) {
    list.push_back({{"name", tensor.name()},
                    {"datatype", tensor.datatype()},
                    {"shape", tensor.shape()}});
  }
  return list;
}

HttpReply ServerPage() {
  inference::ServerMetadataResponse server;
  FillServerMetadata(server);
  return Json(200, {{"name", server.name()},
                    {"version", server.version()},
                    {"extensions", server.extensions()}});
}

HttpReply NoPage() {
  return Json(
      404, {{"error",
             "expected /v2, /v2/health/live, /v2/health/ready, "
             "/v2/models/NAME[/versions/N] or "
             "/v2/models/NAME[/versions/N]/ready; configs, statistics and the "
             "index are served over gRPC: ModelConfig, ModelStatistics, "
             "RepositoryIndex"}});
}

HttpReply ModelPage(const ModelTable& models, const std::string& name,
                    const std::string& version) {
  const auto metadata = FindMetadata(models, name, version);
  if (!metadata.ok()) {
    return Json(absl::IsNotFound(metadata.status()) ? 404 : 400,
                {{"error", std::string(metadata.status().message())}});
  }
  return Json(200, {{"name", metadata->name()},
                    {"versions", metadata->versions()},
                    {"platform", metadata->platform()},
                    {"inputs", ToJson(metadata->inputs())},
                    {"outputs", ToJson(metadata->outputs())}});
}

}  // namespace

std::optional<HttpReply> ModelPages::Answer(absl::string_view path) const {
  std::vector<std::string> parts = absl::StrSplit(path, '/');
  if (parts.size() < 2 || !parts[0].empty() || parts[1] != "v2") {
    return std::nullopt;
  }
  if (parts.size() == 2) {
    return ServerPage();
  }
  const bool asks_ready = parts.size() > 4 && parts.back() == "ready";
  if (asks_ready) {
    parts.pop_back();
  }
  const bool has_version = parts.size() == 6 && parts[4] == "versions";
  if (parts[2] != "models" || (parts.size() != 4 && !has_version)) {
    return NoPage();
  }
  const std::string& name = parts[3];
  const std::string version = has_version ? parts[5] : "";
  if (!asks_ready) {
    return ModelPage(models_, name, version);
  }
  const auto ready = IsModelReady(models_, readiness_, name, version);
  return ready.ok() && *ready ? HttpReply{.body = "yes\n"}
                              : HttpReply{.code = 503, .body = "no\n"};
}

}  // namespace ferry
