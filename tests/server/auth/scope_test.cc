// Tests that each method of each service has a scope, and other paths none.
#include "server/auth/scope.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/admin.pb.h"
#include "proto/health.pb.h"
#include "proto/inference.pb.h"

namespace ferry {
namespace {

TEST(ScopeOf, EachMethodThatMayBeRegisteredHasOne) {
  int methods = 0;
  for (const google::protobuf::FileDescriptor* file :
       {inference::ModelInferRequest::descriptor()->file(),
        grpc::health::v1::HealthCheckRequest::descriptor()->file(),
        v1::GetRuntimeOptionsRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j, ++methods) {
        std::string path = "/";
        path += service.full_name();
        path += '/';
        path += service.method(j)->name();
        EXPECT_TRUE(ScopeOf(path).has_value()) << path;
      }
    }
  }
  EXPECT_GT(methods, 20);
}

TEST(ScopeOf, OthersHaveNone) {
  for (const char* path :
       {"", "/", "ModelInfer", "/inference.GRPCInferenceService/modelinfer",
        "/inference.GRPCInferenceService/ModelInfer/",
        "/inference.GRPCInferenceService/Other"}) {
    EXPECT_FALSE(ScopeOf(path).has_value()) << path;
  }
}

TEST(ScopeOfPage, FoldersHaveScopes) {
  EXPECT_EQ(ScopeOfPage("/"), Scope::kOpen);
  for (const char* path :
       {"/v2/health/live", "/v2/health/ready", "/v2/models/m/ready",
        "/v2/models/m/versions/1/ready"}) {
    EXPECT_EQ(ScopeOfPage(path), Scope::kHealth) << path;
  }
  for (const char* path :
       {"/v2", "/v2/", "/v2/models/m", "/v2/ready", "/v2/models/ready"}) {
    EXPECT_EQ(ScopeOfPage(path), Scope::kInfer) << path;
  }
  for (const char* path : {"", "/metrics", "/status.json", "/v2x", "//",
                           "/ready", "/v2health/live"}) {
    EXPECT_EQ(ScopeOfPage(path), Scope::kRead) << path;
  }
}

TEST(Scope, NamesAreThoseOfTokenFiles) {
  for (const Scope scope : {Scope::kInfer, Scope::kRead, Scope::kAdmin}) {
    EXPECT_EQ(ParseScope(NameOf(scope)), scope);
  }
  EXPECT_FALSE(ParseScope("health").has_value());
  EXPECT_FALSE(ParseScope("Infer").has_value());
  EXPECT_FALSE(ParseScope("").has_value());
}

}  // namespace
}  // namespace ferry
