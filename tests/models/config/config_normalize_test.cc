// Tests that 'ferry.normalize.<input>' is read, and refused if it does not fit.
#include "models/config/config_normalize.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WithImage(const std::string& key, const std::string& value,
                      const std::string& dims = "[ 4, 5, 3 ]") {
  return "max_batch_size: 8 input { name: \"i\" data_type: TYPE_UINT8 dims: " +
         dims + " } parameters { key: \"ferry.normalize." + key +
         "\" value { string_value: \"" + value + "\" } }" + kTensors;
}

TEST(ConfigNormalizeTest, NormalizationIsReadOfItsInput) {
  const auto config =
      Parse(WithImage("i", "mean=0.5,-1,2 std=0.25 divisor=1 channels=last"));
  ASSERT_TRUE(config.ok()) << config.status();
  const auto& normalizations = config->options.normalizations;
  ASSERT_EQ(normalizations.size(), 2u);
  EXPECT_FALSE(normalizations[1].has_value());
  EXPECT_THAT(normalizations[0]->mean, ElementsAre(0.5, -1, 2));
  EXPECT_THAT(normalizations[0]->std, ElementsAre(0.25));
  EXPECT_EQ(normalizations[0]->divisor, 1);
  EXPECT_EQ(normalizations[0]->channels, ChannelPlace::kLast);
  EXPECT_EQ(Parse(WithImage("i", ""))->options.normalizations[0]->divisor, 255);
}

TEST(ConfigNormalizeTest, NormalizationThatDoesNotFitIsRefused) {
  const std::pair<std::string, const char*> wrong[] = {
      {WithImage("z", ""),
       "expected the name of an input after 'ferry.normalize.': i, x"},
      {WithImage("x", ""), "expected an input of TYPE_UINT8, which 'x' is not"},
      {WithImage("i", "mean=1,2,3"),
       "expected one number, or one for each of the 4 channels of 'i'"},
      {WithImage("i", "std=1,2 channels=last"), "each of the 3 channels"},
      {WithImage("i", "std=0"), "expected std greater than 0"},
      {WithImage("i", "divisor=0"), "expected 'mean=A,B,C std=A,B,C'"},
      {WithImage("i", "mean=a"), "expected 'mean=A,B,C std=A,B,C'"},
      {WithImage("i", "mean=nan"), "expected 'mean=A,B,C std=A,B,C'"},
      {WithImage("i", "mean=1,,2"), "expected 'mean=A,B,C std=A,B,C'"},
      {WithImage("i", "channels=middle"), "got 'channels=middle'"},
      {WithImage("i", "scale=2"), "expected 'mean=A,B,C std=A,B,C'"},
      {WithImage("i", "", "[ -1, 5, 3 ]"), "a fixed number of channels"},
      {"backend: \"ferry_echo\"" + WithImage("i", ""),
       "parameter 'ferry.normalize.i' is not supported"}};
  for (const auto& [text, message] : wrong) {
    EXPECT_THAT(MessageOf(text), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace ferry
