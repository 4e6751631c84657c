// Tests that the parameters 'ferry.pad.<input>', 'ferry.mask.<input>' and
// 'ferry.cut.<output>' are read, and refused where they do not fit.
#include "models/config/config_padding.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Key(const std::string& key, const std::string& value) {
  return absl::StrCat("parameters { key: \"ferry.", key,
                      "\" value { string_value: \"", value, "\" } }\n");
}

std::string Tensor(const char* side, const std::string& name,
                   const std::string& rest) {
  return absl::StrCat(side, " { name: \"", name, "\" ", rest, " }\n");
}

// ids, mask and types [-1], texts and pair; tokens [-1, 4] and label [2].
std::string With(const std::string& parameters) {
  return "max_batch_size: 8\n" +
         Tensor("input", "mask", "data_type: TYPE_INT64 dims: [ -1 ]") +
         Tensor("input", "ids", "data_type: TYPE_INT64 dims: [ -1 ]") +
         Tensor("input", "types", "data_type: TYPE_INT64 dims: [ -1 ]") +
         Tensor("input", "image", "data_type: TYPE_UINT8 dims: [ 3, -1 ]") +
         Tensor("input", "texts", "data_type: TYPE_STRING dims: [ -1 ]") +
         Tensor("input", "pair", "data_type: TYPE_FP32 dims: [ -1, -1 ]") +
         Tensor("input", "flat",
                "data_type: TYPE_FP32 dims: [ -1 ] reshape { shape: [ -1, 1 ] "
                "}") +
         Tensor("input", "maybe",
                "data_type: TYPE_FP32 dims: [ -1 ] optional: true") +
         Tensor("input", "wide", "data_type: TYPE_FP32 dims: [ 2, -1 ]") +
         Tensor("output", "tokens", "data_type: TYPE_FP32 dims: [ -1, 4 ]") +
         Tensor("output", "label", "data_type: TYPE_FP32 dims: [ 2 ]") +
         parameters;
}

const std::string kCut = Key("cut.tokens", "ids");

TEST(ConfigPaddingTest, SizesMasksAndCutsAreRead) {
  const auto config =
      Parse(With(Key("mask.mask", "ids") + kCut + Key("pad.types", "ids") +
                 Key("pad.ids", "16,32,64")));
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelSpec& spec = config->options.spec;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(spec.inputs[i].pads, ElementsAre(16, 32, 64)) << i;
  }
  EXPECT_THAT(spec.inputs[3].pads, IsEmpty());  // image
  EXPECT_TRUE(spec.inputs[0].is_mask && spec.inputs[0].is_optional);
  EXPECT_FALSE(spec.inputs[2].is_mask || spec.inputs[2].is_optional);
  EXPECT_EQ(spec.inputs[0].follows, 1u);
  EXPECT_EQ(spec.inputs[1].follows, std::nullopt);
  EXPECT_EQ(spec.inputs[2].follows, 1u);
  EXPECT_EQ(spec.outputs[0].follows, 1u);
  EXPECT_EQ(spec.outputs[1].follows, std::nullopt);
}

TEST(ConfigPaddingTest, OrderOfParametersIsOfNoMatter) {
  const std::string keys[] = {Key("pad.ids", "16"), Key("mask.mask", "ids"),
                              Key("cut.tokens", "mask")};
  for (const auto& order :
       {keys[0] + keys[1] + keys[2], keys[2] + keys[1] + keys[0]}) {
    EXPECT_EQ(MessageOf(With(order)), "") << order;
  }
}

TEST(ConfigPaddingTest, FindingIsToldOfTheTensorsLine) {
  EXPECT_THAT(MessageOf(With(Key("pad.types", "ids"))),
              HasSubstr("m/config.pbtxt:4: input 'types' has the size"));
}

TEST(ConfigPaddingTest, MaskNeedsNoPadding) {
  const auto config = Parse(With(Key("mask.mask", "ids")));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->options.spec.inputs[0].is_mask);
  EXPECT_THAT(config->options.spec.inputs[0].pads, IsEmpty());
}

TEST(ConfigPaddingTest, WhatDoesNotFitIsRefused) {
  const std::string pad = Key("pad.ids", "16,32");
  const std::pair<std::string, const char*> wrong[] = {
      {Key("pad.z", "16"),
       "expected the name of a tensor after 'ferry.pad.': mask, ids, types"},
      {Key("pad.ids", "32,16"), "expected ascending sizes with commas between"},
      {Key("pad.ids", "16,16"), "expected ascending sizes"},
      {Key("pad.ids", "0,16"), "expected ascending sizes"},
      {Key("pad.ids", ""), "expected ascending sizes"},
      {Key("pad.ids", "9999999999"), "expected ascending sizes"},
      {Key("pad.ids", "ids"), "expected the name of another input"},
      {Key("pad.texts", "16"), "a type other than TYPE_STRING"},
      {Key("pad.pair", "16"), "dims of 'pair' with one -1"},
      {Key("mask.mask", "label"), "expected the name of another input"},
      {Key("mask.mask", "maybe"),
       "input 'mask' has the size of 'maybe': expected that to be in each "
       "request"},
      {pad + Key("cut.tokens", "maybe") + Key("pad.maybe", "16"),
       "parameter 'ferry.cut.tokens': expected an input that is in each "
       "request, 'maybe' is optional"},
      {Key("mask.wide", "ids"), "expected dims of a mask of one element each"},
      {Key("pad.types", "ids"),
       "input 'types' has the size of 'ids': expected parameter "
       "'ferry.pad.ids' with sizes"},
      {pad + kCut + Key("pad.types", "ids") + Key("mask.types", "image"),
       "parameter 'ferry.mask.types': expected the input that another "
       "parameter names, 'ids', got 'image'"},
      {Key("mask.mask", "pair"), "dims of 'pair' with one -1"},
      {Key("cut.label", "ids"), "dims of 'label' with one -1"},
      {Key("cut.none", "ids"), "after 'ferry.cut.': tokens, label"},
      {kCut, "'ids' lacks parameter 'ferry.pad.ids'"},
      {pad,
       "output 'tokens': expected fixed dims, or one -1 and parameter "
       "'ferry.cut.tokens'"},
      {Key("pad.flat", "16") + Key("cut.tokens", "flat"),
       "parameter 'ferry.pad.flat': expected an input without 'reshape'"},
      {Key("pad.image", "16") + Key("normalize.image", "mean=1") +
           Key("cut.tokens", "image"),
       "parameter 'ferry.pad.image': expected an input without"},
      {pad + kCut + Key("mask.mask", "ids") + Key("pad.mask", "8"),
       "input 'mask' has the size of 'ids': expected no sizes of its own"},
      {pad + kCut + Key("pad.types", "ids") + Key("mask.mask", "types"),
       "input 'mask' has the size of 'types': expected that to follow no "
       "other"}};
  for (const auto& [parameters, message] : wrong) {
    EXPECT_THAT(MessageOf(With(parameters)), HasSubstr(message)) << parameters;
  }
  EXPECT_THAT(MessageOf("backend: \"ferry_echo\"" + With(pad)),
              HasSubstr("'ferry.pad.ids' is not supported"));
  EXPECT_THAT(
      MessageOf(Tensor("input", "i", "data_type: TYPE_INT64 dims: [ -1 ]") +
                Tensor("output", "o", "data_type: TYPE_INT64 dims: [ 1 ]") +
                Key("pad.i", "16")),
      HasSubstr("expected max_batch_size of 1 at least"));
  EXPECT_THAT(
      MessageOf("max_batch_size: 8 " +
                Tensor("input", "i", "data_type: TYPE_INT64 dims: [ -1 ]") +
                Key("pad.i", "16")),
      HasSubstr("field 'output': expected the outputs, as inputs are"));
  EXPECT_THAT(MessageOf("max_batch_size: 8 " + Key("pad.i", "16")),
              HasSubstr("expected inputs and outputs in the config"));
}

}  // namespace
}  // namespace ferry
