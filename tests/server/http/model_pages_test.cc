// Tests which paths ModelPages answers, and with what JSON.
#include "server/http/model_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"

namespace ferry {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ModelPagesTest : public ::testing::Test {
 protected:
  ModelPagesTest() { readiness_.MoveTo(ServerState::kReady); }

  // Returns the code; 0 where there is no such path.
  int Code(absl::string_view path) {
    const auto reply = pages_.Answer(path);
    return reply.has_value() ? reply->code : 0;
  }

  ScriptedModel first_{"m", 2};
  ScriptedModel second_{"m", 10};
  BorrowedTable table_{&first_.model(), &second_.model()};
  Readiness readiness_;
  ModelPages pages_{table_, readiness_};
};

TEST_F(ModelPagesTest, ModelIsToldAsOverGrpc) {
  const auto reply = pages_.Answer("/v2/models/m");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->code, 200);
  EXPECT_EQ(reply->content_type, "application/json");
  const json tensor = {
      {"name", "x"}, {"datatype", "INT64"}, {"shape", {-1, 1}}};
  json result = tensor;
  result["name"] = "y";
  EXPECT_EQ(json::parse(reply->body), json({{"name", "m"},
                                            {"versions", {"2", "10"}},
                                            {"platform", "ferry_echo"},
                                            {"inputs", {tensor}},
                                            {"outputs", {result}}}));
  const auto version = pages_.Answer("/v2/models/m/versions/2");
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(json::parse(version->body)["versions"], json({"2"}));
}

TEST_F(ModelPagesTest, ServerHasNameVersionAndExtensions) {
  const auto reply = pages_.Answer("/v2");
  ASSERT_TRUE(reply.has_value());
  const json server = json::parse(reply->body);
  EXPECT_EQ(server["name"], "ferry");
  EXPECT_THAT(server["extensions"].dump(), HasSubstr("classification"));
}

TEST_F(ModelPagesTest, ModelIsReadyWhileTheServerServes) {
  for (const char* path :
       {"/v2/models/m/ready", "/v2/models/m/versions/2/ready"}) {
    EXPECT_EQ(Code(path), 200) << path;
  }
  for (const char* path :
       {"/v2/models/none/ready", "/v2/models/m/versions/3/ready",
        "/v2/models/m/versions/x/ready"}) {
    EXPECT_EQ(Code(path), 503) << path;
  }
  readiness_.MoveTo(ServerState::kDraining);
  EXPECT_EQ(Code("/v2/models/m/ready"), 503);
}

TEST_F(ModelPagesTest, WhatIsNotServedIsNotFound) {
  EXPECT_EQ(Code("/v2/models/none"), 404);
  EXPECT_EQ(Code("/v2/models/m/versions/3"), 404);
  EXPECT_EQ(Code("/v2/models/m/versions/x"), 400);
  const auto reply = pages_.Answer("/v2/models/n\"\x1b\xff");
  ASSERT_TRUE(reply.has_value());
  EXPECT_THAT(json::parse(reply->body)["error"].get<std::string>(),
              HasSubstr("is not found"));
}

TEST_F(ModelPagesTest, OtherPathsAreNone) {
  for (const char* path : {"", "/", "v2", "/v3/models/m", "//v2"}) {
    EXPECT_EQ(Code(path), 0) << path;
  }
}

TEST_F(ModelPagesTest, OtherPathsOfV2AreNotFoundAsJson) {
  for (const char* path :
       {"/v2/", "/v2/models", "/v2/model/m", "/v2/models/m/",
        "/v2/models/m/infer", "/v2/models/m/config", "/v2/models/m/stats",
        "/v2/models/m/versions", "/v2/models/m/version/2",
        "/v2/models/m/versions/2/ready/x", "/v2/repository/index",
        "/v2/ready"}) {
    const auto reply = pages_.Answer(path);
    ASSERT_TRUE(reply.has_value()) << path;
    EXPECT_EQ(reply->code, 404) << path;
    EXPECT_EQ(reply->content_type, "application/json");
    EXPECT_THAT(json::parse(reply->body)["error"].get<std::string>(),
                HasSubstr("/v2/models/NAME[/versions/N]/ready"));
  }
}

TEST_F(ModelPagesTest, ModelMayBeCalledReady) {
  ScriptedModel ready("ready");
  BorrowedTable table{&ready.model()};
  const ModelPages pages(table, readiness_);
  const auto page = pages.Answer("/v2/models/ready");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(json::parse(page->body)["name"], "ready");
}

}  // namespace
}  // namespace ferry
