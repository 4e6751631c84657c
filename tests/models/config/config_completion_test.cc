// Tests that a config may leave out tensors, and how it is completed.
#include "models/config/config_completion.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/config/model_overrides.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConfigCompletionTest, TorchScriptMayLeaveOutWhatItsFileSays) {
  for (const char* text :
       {"", "backend: \"pytorch\"",
        "max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 1 }",
        "output { name: \"x\" data_type: TYPE_FP32 dims: 1 }"}) {
    const auto config = Parse(text);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->options.backend, BackendKind::kTorchScript);
    EXPECT_TRUE(IsIncomplete(config->options)) << text;
  }
}

TEST(ConfigCompletionTest, CompletedConfigSaysWhatWasFound) {
  auto config = Parse(
      "parameters { key: \"ferry.threads\" value { string_value: "
      "\"2\" } }");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelSpec found = {.inputs = {{"x", DataType::kInt64, {7}}},
                           .outputs = {{"y", DataType::kBf16, {-1, 2}}},
                           .max_batch_size = 64};
  const std::string lines =
      CompleteConfig(found, Batching::kAcrossRequests, *config);
  EXPECT_FALSE(IsIncomplete(config->options));
  EXPECT_EQ(config->options.batching, Batching::kAcrossRequests);
  EXPECT_EQ(config->options.label_files.size(), 1u);
  EXPECT_EQ(config->message.max_batch_size(), 64);
  // The lines are a config that says the same.
  const auto written = Parse(lines);
  ASSERT_TRUE(written.ok()) << written.status() << lines;
  EXPECT_EQ(written->options.spec.max_batch_size, 64);
  EXPECT_EQ(written->options.batching, Batching::kAcrossRequests);
  EXPECT_EQ(written->options.spec.inputs[0].type, DataType::kInt64);
  EXPECT_THAT(written->options.spec.outputs[0].dims, ElementsAre(-1, 2));
}

TEST(ConfigCompletionTest, CompletedOutputsLeaveTheRestAsItIs) {
  auto config = Parse(
      "max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 1 }");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelSpec found = config->options.spec;
  found.outputs = {{"y", DataType::kFp32, {2}}};
  const std::string lines =
      CompleteConfig(found, Batching::kAcrossRequests, *config);
  EXPECT_THAT(lines, HasSubstr("output {"));
  EXPECT_THAT(lines, Not(HasSubstr("input {")));
  EXPECT_EQ(config->options.batching, Batching::kOwnRowsOnly);
}

TEST(ConfigCompletionTest, RowsOfAConfigThatSaysNoneAreTheFlags) {
  auto config = Parse("");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelOverrides overrides;
  overrides.max_batch_size = 9;
  ASSERT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
  EXPECT_EQ(config->options.spec.max_batch_size, 9);
  auto unbatched = Parse(kTensors);
  ASSERT_TRUE(unbatched.ok()) << unbatched.status();
  EXPECT_FALSE(
      ApplyOverrides(overrides, ConfigOrigin::kFolder, *unbatched).ok());
}

TEST(ConfigCompletionTest, WhatIsCompletedWithFlagsLoadsBack) {
  auto config = Parse(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 2, 8 ] } "
      "model_warmup { name: \"a\" batch_size: 8 inputs { key: \"x\" value { "
      "data_type: TYPE_FP32 dims: 1 zero_data: true } } }");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelOverrides overrides;
  overrides.max_batch_size = 3;
  overrides.max_wait = Milliseconds(2);
  ASSERT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
  CompleteConfig({.inputs = {{"x", DataType::kFp32, {1}}},
                  .outputs = {{"y", DataType::kFp32, {1}}},
                  .max_batch_size = 3},
                 Batching::kAcrossRequests, *config);
  for (const auto* const message : {&config->message, &config->kept}) {
    const auto back = CheckModelConfig(*message, "printed", "m");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->options.max_wait, Milliseconds(2));
    EXPECT_EQ(back->options.enough_rows, 2);
  }
}

TEST(ConfigCompletionTest, WaitOfAFlagIsKeptWhereBatchingIsFound) {
  auto config = Parse("");
  ASSERT_TRUE(config.ok()) << config.status();
  ModelOverrides overrides;
  overrides.max_wait = Milliseconds(2);
  ASSERT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
  const std::string lines =
      CompleteConfig({.inputs = {{"x", DataType::kFp32, {1}}},
                      .outputs = {{"y", DataType::kFp32, {1}}},
                      .max_batch_size = 64},
                     Batching::kAcrossRequests, *config);
  EXPECT_THAT(lines, HasSubstr("max_queue_delay_microseconds: 2000"));
  for (const auto* const message : {&config->message, &config->kept}) {
    const auto back = CheckModelConfig(*message, "printed", "m");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->options.max_wait, Milliseconds(2));
  }
}

}  // namespace
}  // namespace ferry
