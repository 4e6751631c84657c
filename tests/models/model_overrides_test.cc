// Flags over configs: the message says what is in force, and folders bound
// rows.
#include "models/model_overrides.h"

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

// Reads the parameter as ApplyOverrides() tells it then; empty: not at all.
std::string ToldInlineUs(const std::string& backend,
                         const std::string& parameters) {
  auto config = Parse("backend: \"" + backend + "\" max_batch_size: 8 " +
                      parameters + kTensors);
  EXPECT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(ApplyOverrides({}, ConfigOrigin::kFolder, *config).ok());
  const auto& told = config->message.parameters();
  const auto found = told.find("ferry.inline_us");
  return found == told.end() ? "" : found->second.string_value();
}

TEST(ModelOverridesTest, MessageSaysHowLongABatchMayBeToRunInline) {
  const auto parameter = [](const std::string& value) {
    return "parameters { key: \"ferry.inline_us\" value { string_value: \"" +
           value + "\" } } ";
  };
  EXPECT_EQ(ToldInlineUs("pytorch", ""), "300");
  EXPECT_EQ(ToldInlineUs("pytorch", parameter("80")), "80");
  EXPECT_EQ(ToldInlineUs("ferry_echo", parameter("0")), "0");
  EXPECT_EQ(ToldInlineUs("ferry_sim", ""), "") << "it waits on its lane";
  EXPECT_FALSE(ParseWith(parameter("10001")).ok());
  EXPECT_FALSE(ParseWith(parameter("-1")).ok());
}

TEST(ModelOverridesTest, OnlyLaneOfOneThreadHasTwoSlotsOfLibTorch) {
  const auto slots_of = [](const std::string& text,
                           const ModelOverrides& overrides = {}) {
    auto config = Parse(text + kTensors);
    EXPECT_TRUE(config.ok()) << text << config.status();
    EXPECT_TRUE(ApplyOverrides(overrides, ConfigOrigin::kFolder, *config).ok());
    return config->options.slots_per_lane();
  };
  const std::string torch = "backend: \"pytorch\" ";
  ModelOverrides two_threads;
  two_threads.threads = 2;
  ModelOverrides three_slots;
  three_slots.slots = 3;
  EXPECT_EQ(slots_of(torch), 2);
  EXPECT_EQ(slots_of(torch + "instance_group { count: 2 }"), 1);
  EXPECT_EQ(slots_of(torch, two_threads), 1);
  EXPECT_EQ(slots_of("backend: \"ferry_sim\""), 1);
  EXPECT_EQ(slots_of(torch + "parameters { key: \"ferry.slots\" value { "
                             "string_value: \"1\" } }"),
            1);
  EXPECT_EQ(slots_of(torch, three_slots), 3);
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

}  // namespace
}  // namespace ferry
