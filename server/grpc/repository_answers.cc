// Implements the repository's RPCs: checks requests, and asks ModelControl.
#include "server/grpc/repository_answers.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "server/client_text.h"
#include "server/grpc/status.h"

namespace ferry {
namespace {

constexpr size_t kMaxNameBytes = 4 * 255;  // of a folder, all as "\xNN"

absl::Status CheckRepository(const std::string& name) {
  return name.empty() ? absl::OkStatus()
                      : absl::UnimplementedError(
                            "'repository_name' specification is not supported");
}

// Returns the config in the parameters; empty: the folder's own.
absl::StatusOr<std::string> ReadLoadParameters(
    const inference::RepositoryModelLoadRequest& request) {
  std::string config;
  for (const auto& [name, value] : request.parameters()) {
    if (absl::StartsWith(name, "file:")) {
      return absl::UnimplementedError(
          absl::StrCat("parameter '", Shown(name),
                       "': files are not taken over the network; put them "
                       "into the model repository"));
    }
    if (name != "config") {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", Shown(name),
                       "': expected 'config', got '", Shown(name), "'"));
    }
    if (!value.has_string_param()) {
      return absl::InvalidArgumentError(
          "parameter 'config': expected string_param, a model config as JSON");
    }
    config = value.string_param();
  }
  return config;
}

absl::Status CheckUnloadParameters(
    const inference::RepositoryModelUnloadRequest& request) {
  for (const auto& [name, value] : request.parameters()) {
    if (name != "unload_dependents") {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter '", Shown(name), "': expected 'unload_dependents', got '",
          Shown(name), "'"));
    }
    if (!value.has_bool_param()) {
      return absl::InvalidArgumentError(
          "parameter 'unload_dependents': expected bool_param");
    }
  }  // no model depends on another
  return absl::OkStatus();
}

void FillIndex(const RepositoryIndex::Entries& index, bool is_ready_only,
               inference::RepositoryIndexResponse& response) {
  for (const IndexEntry& entry : index) {
    if (is_ready_only && entry.state != VersionState::kReady) {
      continue;
    }
    inference::RepositoryIndexResponse::ModelIndex& model =
        *response.add_models();
    model.set_name(PrintableText(entry.name, kMaxNameBytes));
    model.set_version(entry.version);
    if (!entry.version.empty() || !entry.reason.empty()) {
      model.set_state(VersionStateName(entry.state));
    }
    model.set_reason(entry.reason);
  }
}

}  // namespace

void AnswerRepositoryIndex(ModelControl& control,
                           const inference::RepositoryIndexRequest& request,
                           inference::RepositoryIndexResponse& response,
                           const RepositoryReply& reply) {
  if (absl::Status status = CheckRepository(request.repository_name());
      !status.ok()) {
    reply(ToGrpcStatus(status));
    return;
  }
  control.Index([&response, is_ready_only = request.ready(),
                 reply](const absl::StatusOr<RepositoryIndex::Entries>& index) {
    if (index.ok()) {
      FillIndex(*index, is_ready_only, response);
    }
    reply(ToGrpcStatus(index.status()));
  });
}

void AnswerModelLoad(ModelControl& control,
                     const inference::RepositoryModelLoadRequest& request,
                     const RepositoryReply& reply) {
  absl::Status status = CheckRepository(request.repository_name());
  const absl::StatusOr<std::string> config = ReadLoadParameters(request);
  status.Update(config.status());
  if (!status.ok()) {
    reply(ToGrpcStatus(status));
    return;
  }
  control.Load(request.model_name(), *config,
               [reply, name = request.model_name()](const absl::Status& done) {
                 reply(done.ok()
                           ? grpc::Status::OK
                           : ToGrpcStatus(absl::Status(
                                 done.code(),
                                 absl::StrCat("failed to load '", Shown(name),
                                              "': ", done.message()))));
               });
}

void AnswerModelUnload(ModelControl& control,
                       const inference::RepositoryModelUnloadRequest& request,
                       const RepositoryReply& reply) {
  absl::Status status = CheckRepository(request.repository_name());
  status.Update(CheckUnloadParameters(request));
  if (!status.ok()) {
    reply(ToGrpcStatus(status));
    return;
  }
  control.Unload(request.model_name(), [reply](const absl::Status& done) {
    reply(ToGrpcStatus(done));
  });
}

}  // namespace ferry
