// Tests that flags go over configs: the message says what is in force, and a
// folder's config bounds rows.
#include "models/config/model_overrides.h"

#include "gtest/gtest.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

absl::StatusOr<ModelConfig> ParseWith(const std::string& fields) {
  return Parse("backend: \"pytorch\" max_batch_size: 8 " + fields + kTensors);
}

TEST(ModelOverridesTest, MessageSaysWhatIsInForce) {
  auto config = ParseWith("dynamic_batching {}");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelOverrides overrides;
  overrides.max_batch_size = 4;
  overrides.policy = PolicyKind::kWindow;
  overrides.max_wait = Milliseconds(2);
  ASSERT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
  EXPECT_EQ(config->options.spec.max_batch_size, 4);
  EXPECT_EQ(config->message.max_batch_size(), 4);
  EXPECT_EQ(config->message.dynamic_batching().max_queue_delay_microseconds(),
            2000u);
  EXPECT_EQ(config->message.parameters().at("ferry.policy").string_value(),
            "window");
  EXPECT_EQ(config->message.parameters().at("ferry.precision").string_value(),
            "bf16");
}

TEST(ModelOverridesTest, RowsPastAFolderConfigAreRefused) {
  auto config = ParseWith("");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelOverrides overrides;
  overrides.max_batch_size = 9;
  EXPECT_EQ(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kEmbedded, *config).ok());
}

// What is printed by --check-config, and what the RPC ModelConfig answers.
TEST(ModelOverridesTest, WhatIsServedWithFlagsLoadsBack) {
  const std::string fields[] = {
      "dynamic_batching { preferred_batch_size: [ 4, 2, 8 ] }",
      "dynamic_batching { preferred_batch_size: [ 4 ] }",
      "parameters { key: \"ferry.buckets\" value { string_value: \"1,4,8\" } }",
      "model_warmup { name: \"a\" batch_size: 8 inputs { key: \"x\" value { "
      "data_type: TYPE_FP32 dims: 4 zero_data: true } } }"};
  for (const std::string& field : fields) {
    auto config = ParseWith(field);
    ASSERT_TRUE(config.ok()) << config.status();
    ModelOverrides overrides;
    overrides.max_batch_size = 3;
    overrides.max_wait = Milliseconds(2);
    ASSERT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
    for (const auto* const message : {&config->message, &config->kept}) {
      const auto back = CheckModelConfig(*message, "printed", "m");
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->options.spec.max_batch_size, 3);
      EXPECT_EQ(back->options.enough_rows, config->options.enough_rows);
      EXPECT_EQ(back->options.buckets, config->options.buckets);
    }
  }
}

}  // namespace
}  // namespace ferry
