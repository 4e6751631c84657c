// Tests that `model_warmup` is read as Triton's configs write it.
#include "models/config/config_warm_up.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/config/model_config.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ModelConfig> WithWarmUp(const std::string& warm_up) {
  return ParseModelConfig(R"(backend: "pytorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] }
input { name: "t" data_type: TYPE_STRING dims: 1 optional: true }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
)" + warm_up,
                          "m/config.pbtxt", "m");
}

std::string Refusal(const std::string& warm_up) {
  const auto config = WithWarmUp(warm_up);
  EXPECT_FALSE(config.ok());
  return std::string(config.status().message());
}

TEST(ConfigWarmUpTest, SamplesAreRead) {
  const auto config = WithWarmUp(R"(model_warmup {
  name: "long" batch_size: 4 count: 3
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 80 ]
                            random_data: true } }
  inputs { key: "t" value { data_type: TYPE_STRING dims: [ 1 ]
                            input_data_file: "t.bin" } }
}
model_warmup { name: "short" batch_size: 1
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 1 ]
                            zero_data: true } } }
)");
  ASSERT_TRUE(config.ok()) << config.status();
  const std::vector<WarmUpSample>& samples = config->options.warm_up;
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "long");
  EXPECT_EQ(samples[0].count, 3);
  EXPECT_THAT(samples[0].inputs.at("x").dims, ElementsAre(3, 80));
  EXPECT_EQ(samples[0].inputs.at("x").data, WarmUpSample::Data::kRandom);
  EXPECT_EQ(samples[0].inputs.at("t").file, "t.bin");
  EXPECT_EQ(samples[1].count, 1);
  EXPECT_EQ(samples[1].inputs.at("x").data, WarmUpSample::Data::kZeros);
}

TEST(ConfigWarmUpTest, EachMistakeIsTold) {
  const std::string refusal = Refusal(R"(model_warmup {
  name: "w" batch_size: 9 count: 1001
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4, 80 ]
                            zero_data: true } }
  inputs { key: "z" value { data_type: TYPE_FP32 dims: [ 1 ]
                            zero_data: true } }
})");
  EXPECT_THAT(refusal, HasSubstr("m/config.pbtxt:7: field "
                                 "'model_warmup.count': expected at most 1000, "
                                 "got 1001"));
  EXPECT_THAT(refusal, HasSubstr("'model_warmup.batch_size': expected at most "
                                 "max_batch_size, 8, got 9"));
  EXPECT_THAT(refusal, HasSubstr("'model_warmup.inputs' of 'x': expected FP32 "
                                 "[3,-1] without the batch dimension, got FP32 "
                                 "[4,80]"));
  EXPECT_THAT(refusal, HasSubstr("of 'z': expected an input of the model"));
}

TEST(ConfigWarmUpTest, SamplesAreBoundedTogether) {
  const std::string sample =
      "model_warmup { inputs { key: \"x\" value { data_type: TYPE_FP32 "
      "dims: [ 3, 10000000 ] zero_data: true } } }\n";
  EXPECT_TRUE(WithWarmUp(sample + sample).ok());
  EXPECT_THAT(Refusal(sample + sample + sample),
              HasSubstr("of at most 268435456 bytes in all samples, got "
                        "[3,10000000]"));
}

TEST(ConfigWarmUpTest, InputsAreWhole) {
  EXPECT_THAT(Refusal(R"(model_warmup { name: "w" })"),
              HasSubstr("of 'x': expected it in each sample, got none"));
  EXPECT_THAT(Refusal(R"(model_warmup { inputs { key: "x" value {
  data_type: TYPE_FP32 dims: [ 3, 2 ] } } })"),
              HasSubstr("of 'x': expected zero_data, random_data or "
                        "input_data_file, got none"));
  EXPECT_THAT(Refusal(R"(model_warmup { inputs { key: "x" value {
  data_type: TYPE_FP32 dims: [ 3, -1 ] zero_data: true } } })"),
              HasSubstr("of 'x': expected dims of at least 1"));
  EXPECT_THAT(Refusal(R"(model_warmup { inputs { key: "x" value {
  data_type: TYPE_FP32 dims: [ 3, 2 ] input_data_file: "../x" } } })"),
              HasSubstr("expected the name of a file in the model's folder "
                        "'warmup', got '../x'"));
}

}  // namespace
}  // namespace ferry
