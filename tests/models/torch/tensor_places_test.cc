// Tests that names of a config are found in a package's arguments and results.
#include "models/torch/tensor_places.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLeaf[] =
    R"({"type": null, "context": null, "children_spec": []})";

std::string Node(const std::string& type, const std::string& context,
                 const std::vector<std::string>& children) {
  std::string text = R"({"type": "builtins.)" + type + R"(", "context": ")" +
                     context + R"(", "children_spec": [)";
  for (size_t i = 0; i < children.size(); ++i) {
    text += (i > 0 ? "," : "") + children[i];
  }
  return text + "]}";
}

std::string Tuple(const std::vector<std::string>& children) {
  return Node("tuple", "null", children);
}

// forward(p, *, k) and {"y": .., "z": (.., [..])}
std::string InSpec() {
  return "[1, " + Tuple({Tuple({kLeaf}), Node("dict", R"([\"k\"])", {kLeaf})}) +
         "]";
}
std::string OutSpec() {
  return "[1, " +
         Node("dict", R"([\"y\", \"z\"])",
              {kLeaf, Tuple({kLeaf, Node("list", "null", {kLeaf})})}) +
         "]";
}

std::vector<TensorSpec> Specs(const std::vector<std::string>& names) {
  std::vector<TensorSpec> specs;
  for (const std::string& name : names) {
    specs.push_back({name, DataType::kFp32, {1}});
  }
  return specs;
}

absl::StatusOr<std::vector<size_t>> Place(
    const std::vector<std::string>& names) {
  const auto tensors = ReadCallSpec(OutSpec(), {"RESULT"});
  EXPECT_TRUE(tensors.ok()) << tensors.status();
  return PlaceByName("output", Specs(names), *tensors);
}

TEST(TensorPlacesTest, TreeIsFlattenedWithTritonsNames) {
  const auto in = ReadCallSpec(InSpec(), {"ARGS", "KWARGS"});
  ASSERT_TRUE(in.ok()) << in.status();
  ASSERT_EQ(in->size(), 2u);
  EXPECT_EQ((*in)[0].path, "ARGS[0]");
  EXPECT_EQ((*in)[1].path, "KWARGS[k]");
  EXPECT_EQ((*in)[1].key, "k");
  const auto out = ReadCallSpec(OutSpec(), {"RESULT"});
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->size(), 3u);
  EXPECT_EQ((*out)[0].path, "RESULT[y]");
  EXPECT_EQ((*out)[1].path, "RESULT[z][0]");
  EXPECT_EQ((*out)[2].path, "RESULT[z][1][0]");
}

TEST(TensorPlacesTest, OneTensorIsATree) {
  const auto out = ReadCallSpec(std::string("[1, ") + kLeaf + "]", {"RESULT"});
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->size(), 1u);
  EXPECT_EQ((*out)[0].path, "RESULT");
}

TEST(TensorPlacesTest, TensorsAreFoundByPathKeyAndIndexElseInOrder) {
  EXPECT_THAT(*Place({"RESULT[z][1][0]", "RESULT[y]", "RESULT[z][0]"}),
              ElementsAre(2, 0, 1));
  EXPECT_THAT(*Place({"OUTPUT__2", "y", "RESULT[z][0]"}), ElementsAre(2, 0, 1));
  EXPECT_THAT(*Place({"a", "b", "c"}), ElementsAre(0, 1, 2));
}

TEST(TensorPlacesTest, NamesThatAreFoundOnlyInPartAreRefused) {
  const auto mixed = Place({"y", "b", "OUTPUT__2"});
  EXPECT_THAT(std::string(mixed.status().message()),
              HasSubstr("output 'b': expected one of RESULT[y], RESULT[z][0], "
                        "RESULT[z][1][0]"));
  EXPECT_THAT(std::string(Place({"y", "OUTPUT__0", "z"}).status().message()),
              HasSubstr("each once"));
  EXPECT_THAT(std::string(Place({"y", "z"}).status().message()),
              HasSubstr("outputs: the config has 2, the package 3: RESULT[y]"));
}

TEST(TensorPlacesTest, WhatIsNoTreeIsRefused) {
  for (const char* text :
       {"", "1", "[]", "[1]", "[1, 2]", "[1, {}]", R"([1, {"type": "x"}])",
        R"([1, {"type": "x", "children_spec": [1]}])"}) {
    EXPECT_FALSE(ReadCallSpec(text, {"RESULT"}).ok()) << text;
    EXPECT_FALSE(ReadCallSpec(text, {"ARGS", "KWARGS"}).ok()) << text;
  }
}

}  // namespace
}  // namespace ferry
