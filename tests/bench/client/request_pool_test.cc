// Requests for every datatype, shapes from metadata and flags, and refusals.
#include "bench/client/request_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Model {
  inference::ModelMetadataResponse metadata;
  inference::ModelConfig config;
};

Model ModelWithInput(const std::string& datatype,
                     const std::vector<int64_t>& shape, int max_batch_size) {
  Model model;
  model.metadata.set_name(std::string("m"));
  auto* input = model.metadata.add_inputs();
  input->set_name(std::string("x"));
  input->set_datatype(datatype);
  for (const int64_t dim : shape) {
    input->add_shape(dim);
  }
  model.config.set_max_batch_size(max_batch_size);
  return model;
}

TEST(RequestPoolTest, EveryDatatypeHasItsBytes) {
  const std::pair<const char*, size_t> sizes[] = {
      {"BOOL", 1}, {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8},
      {"INT8", 1}, {"INT16", 2}, {"INT32", 4},  {"INT64", 8},  {"FP16", 2},
      {"FP32", 4}, {"FP64", 8},  {"BF16", 2},   {"BYTES", 12}};
  for (const auto& [datatype, bytes] : sizes) {
    const Model model = ModelWithInput(datatype, {-1, 3, 5}, 8);
    RequestPoolOptions options;
    options.rows = 2;
    const auto request = MakeRequest(model.metadata, model.config, options, 1);
    ASSERT_TRUE(request.ok()) << datatype << ": " << request.status();
    EXPECT_EQ(request->inputs(0).datatype(), datatype);
    EXPECT_THAT(request->inputs(0).shape(), ElementsAre(2, 3, 5)) << datatype;
    EXPECT_EQ(request->raw_input_contents(0).size(), 2 * 3 * 5 * bytes)
        << datatype;
  }
}

template <typename T>
std::vector<T> Elements(const char* datatype, IntegerRange range) {
  const Model model = ModelWithInput(datatype, {-1, 500}, 8);
  RequestPoolOptions options;
  options.ranges["x"] = range;
  const auto request = MakeRequest(model.metadata, model.config, options, 1);
  EXPECT_TRUE(request.ok()) << request.status();
  std::vector<T> elements(500);
  const std::string& raw = request->raw_input_contents(0);
  EXPECT_EQ(raw.size(), elements.size() * sizeof(T));
  std::memcpy(elements.data(), raw.data(), raw.size());
  return elements;
}

TEST(RequestPoolTest, IntegersFillTheirRange) {
  for (const int64_t value : Elements<int64_t>("INT64", {3, 6})) {
    EXPECT_GE(value, 3);
    EXPECT_LE(value, 6);
  }
  const auto signed_bytes = Elements<int8_t>("INT8", {-1000, 1000});
  EXPECT_LT(*std::min_element(signed_bytes.begin(), signed_bytes.end()), -100);
  EXPECT_GT(*std::max_element(signed_bytes.begin(), signed_bytes.end()), 100);
  for (const uint32_t value : Elements<uint32_t>("UINT32", {-5, 2})) {
    EXPECT_LE(value, 2U);
  }
  for (const uint8_t value : Elements<uint8_t>("BOOL", {0, 9})) {
    EXPECT_LE(value, 1);
  }
}

TEST(RequestPoolTest, FloatsLieInMinusOneToOne) {
  bool has_negative = false;
  for (const float value : Elements<float>("FP32", {})) {
    EXPECT_LE(std::fabs(value), 1);
    has_negative = has_negative || value < 0;
  }
  EXPECT_TRUE(has_negative);
  for (const double value : Elements<double>("FP64", {})) {
    EXPECT_LE(std::fabs(value), 1);
  }
  // Exponents: bf16 has float's (127), fp16 a bias of 15.
  for (const uint16_t bits : Elements<uint16_t>("BF16", {})) {
    EXPECT_LE((bits >> 7) & 0xFF, 127);
  }
  for (const uint16_t bits : Elements<uint16_t>("FP16", {})) {
    EXPECT_LE((bits >> 10) & 0x1F, 15);
  }
}

TEST(RequestPoolTest, ModelWithoutBatchDimensionGetsItsWholeShape) {
  const Model model = ModelWithInput("FP32", {3, 5}, 0);
  RequestPoolOptions options;
  options.rows = 4;
  const auto request = MakeRequest(model.metadata, model.config, options, 1);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->inputs(0).shape(), ElementsAre(3, 5));
}

TEST(RequestPoolTest, AnySizeNeedsAShape) {
  const Model model = ModelWithInput("INT64", {-1, -1}, 8);
  RequestPoolOptions options;
  EXPECT_THAT(
      MakeRequest(model.metadata, model.config, options, 1).status().message(),
      HasSubstr("give --shape x:<sizes>"));
  ASSERT_TRUE(ParseShape("x:128", &options.shapes).ok());
  const auto request = MakeRequest(model.metadata, model.config, options, 1);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->inputs(0).shape(), ElementsAre(1, 128));
}

TEST(RequestPoolTest, RefusesWhatDoesNotFit) {
  RequestPoolOptions options;
  const auto refusal = [&](const Model& model) {
    return std::string(MakeRequest(model.metadata, model.config, options, 1)
                           .status()
                           .message());
  };
  EXPECT_THAT(refusal(ModelWithInput("FP99", {-1, 3}, 8)),
              HasSubstr("unknown datatype 'FP99'"));
  EXPECT_THAT(refusal(ModelWithInput("FP32", {-1, int64_t{1} << 40}, 8)),
              HasSubstr("larger than 1 GiB"));
  options.shapes["x"] = {4};
  EXPECT_THAT(refusal(ModelWithInput("FP32", {-1, 3}, 8)),
              HasSubstr("expected [3], got [4]"));
  options.shapes = {{"y", {4}}};
  EXPECT_THAT(refusal(ModelWithInput("FP32", {-1, 3}, 8)),
              HasSubstr("no input 'y'"));
}

TEST(RequestPoolTest, SeedDecidesContents) {
  const Model model = ModelWithInput("FP32", {-1, 64}, 8);
  RequestPoolOptions options;
  const auto contents = [&](uint64_t seed) {
    return MakeRequest(model.metadata, model.config, options, seed)
        ->raw_input_contents(0);
  };
  EXPECT_EQ(contents(1), contents(1));
  EXPECT_NE(contents(1), contents(2));
}

TEST(RequestPoolTest, PoolHoldsDifferentRequests) {
  const Model model = ModelWithInput("FP32", {-1, 64}, 8);
  RequestPoolOptions options;
  options.count = 5;
  const auto pool = MakeRequestPool(model.metadata, model.config, options);
  ASSERT_TRUE(pool.ok()) << pool.status();
  ASSERT_EQ(pool->size(), 5U);
  grpc::Slice first;
  grpc::Slice second;
  ASSERT_TRUE((*pool)[0].TrySingleSlice(&first).ok());
  ASSERT_TRUE((*pool)[1].TrySingleSlice(&second).ok());
  EXPECT_NE(std::string(first.begin(), first.end()),
            std::string(second.begin(), second.end()));
}

TEST(ParseTest, FlagsAreReadOrRefused) {
  std::map<std::string, std::vector<int64_t>> shapes;
  EXPECT_TRUE(ParseShape("a:b:3,224,224", &shapes).ok());
  EXPECT_THAT(shapes["a:b"], ElementsAre(3, 224, 224));
  for (const char* wrong : {"", "x", ":3", "x:", "x:3,", "x:-1", "x:3,y"}) {
    EXPECT_FALSE(ParseShape(wrong, &shapes).ok()) << wrong;
  }
  std::map<std::string, IntegerRange> ranges;
  EXPECT_TRUE(ParseRange("ids:0:30521", &ranges).ok());
  EXPECT_EQ(ranges["ids"].high, 30521);
  for (const char* wrong : {"", "ids", "ids:1", "ids:5:1", ":0:1", "ids:a:b"}) {
    EXPECT_FALSE(ParseRange(wrong, &ranges).ok()) << wrong;
  }
}

}  // namespace
}  // namespace ferry::bench
