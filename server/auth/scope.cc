// Implements ScopeOf() by a table of the methods, ScopeOfPage() by the folder.
#include "server/auth/scope.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace ferry {
namespace {

constexpr std::pair<absl::string_view, Scope> kNames[] = {
    {"infer", Scope::kInfer}, {"read", Scope::kRead}, {"admin", Scope::kAdmin}};

// Each method of each service that may be registered; a test compares it with
// them.
constexpr std::pair<absl::string_view, Scope> kMethods[] = {
    {"/grpc.health.v1.Health/Check", Scope::kHealth},
    {"/grpc.health.v1.Health/Watch", Scope::kHealth},
    {"/inference.GRPCInferenceService/ServerLive", Scope::kHealth},
    {"/inference.GRPCInferenceService/ServerReady", Scope::kHealth},
    {"/inference.GRPCInferenceService/ModelReady", Scope::kHealth},
    {"/inference.GRPCInferenceService/ServerMetadata", Scope::kInfer},
    {"/inference.GRPCInferenceService/ModelMetadata", Scope::kInfer},
    {"/inference.GRPCInferenceService/ModelConfig", Scope::kInfer},
    {"/inference.GRPCInferenceService/ModelInfer", Scope::kInfer},
    {"/inference.GRPCInferenceService/ModelStreamInfer", Scope::kInfer},
    {"/inference.GRPCInferenceService/ModelStatistics", Scope::kRead},
    {"/inference.GRPCInferenceService/RepositoryIndex", Scope::kRead},
    {"/inference.GRPCInferenceService/TraceSetting", Scope::kRead},
    {"/inference.GRPCInferenceService/LogSettings", Scope::kRead},
    {"/inference.GRPCInferenceService/SystemSharedMemoryStatus", Scope::kInfer},
    {"/inference.GRPCInferenceService/SystemSharedMemoryRegister",
     Scope::kInfer},
    {"/inference.GRPCInferenceService/SystemSharedMemoryUnregister",
     Scope::kInfer},
    {"/inference.GRPCInferenceService/CudaSharedMemoryStatus", Scope::kInfer},
    {"/inference.GRPCInferenceService/CudaSharedMemoryRegister", Scope::kInfer},
    {"/inference.GRPCInferenceService/CudaSharedMemoryUnregister",
     Scope::kInfer},
    {"/inference.GRPCInferenceService/RepositoryModelLoad", Scope::kAdmin},
    {"/inference.GRPCInferenceService/RepositoryModelUnload", Scope::kAdmin},
    {"/ferry.v1.Admin/GetRuntimeOptions", Scope::kAdmin},
    {"/ferry.v1.Admin/SetRuntimeOptions", Scope::kAdmin},
    {"/ferry.v1.Admin/Drain", Scope::kAdmin},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
     Scope::kRead},
};

}  // namespace

const char* NameOf(Scope scope) {
  const auto* const found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const auto& one) { return one.second == scope; });
  Check(found != std::end(kNames), "a scope that tokens may have");
  return found->first.data();
}

std::optional<Scope> ParseScope(absl::string_view name) {
  for (const auto& [known, scope] : kNames) {
    if (known == name) {
      return scope;
    }
  }
  return std::nullopt;
}

std::optional<Scope> ScopeOf(absl::string_view path) {
  for (const auto& [method, scope] : kMethods) {
    if (method == path) {
      return scope;
    }
  }
  return std::nullopt;
}

Scope ScopeOfPage(absl::string_view path) {
  if (path == "/") {  // the live page, which asks for the data
    return Scope::kOpen;
  }
  absl::string_view model = path;
  if (absl::StartsWith(path, "/v2/health/") ||
      (absl::ConsumePrefix(&model, "/v2/models/") &&
       absl::EndsWith(model, "/ready"))) {
    return Scope::kHealth;
  }
  return path == "/v2" || absl::StartsWith(path, "/v2/") ? Scope::kInfer
                                                         : Scope::kRead;
}

}  // namespace ferry
