// Tests requests for every datatype and of samples, shapes from metadata and
// flags, and refusals.
#include "bench/client/request_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/client/payload.h"
#include "bench/client/payload_pool.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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

TEST(RequestPoolTest, IntegersAreThoseOfTheSmallestVocabulary) {
  const Model model = ModelWithInput("INT64", {-1, 64}, 8);
  const auto request = MakeRequest(model.metadata, model.config, {}, 1);
  ASSERT_TRUE(request.ok()) << request.status();
  std::vector<int64_t> elements(64);
  std::memcpy(elements.data(), request->raw_input_contents(0).data(), 64 * 8);
  EXPECT_THAT(elements, ::testing::Each(::testing::AllOf(::testing::Ge(0),
                                                         ::testing::Le(1))));
  EXPECT_THAT(elements, ::testing::Contains(0));
  EXPECT_THAT(elements, ::testing::Contains(1));
}

TEST(RequestPoolTest, AdviceNamesTheFlagThatChangesContents) {
  RequestPoolOptions options;
  EXPECT_EQ(ContentAdvice(ModelWithInput("INT64", {4}, 0).metadata, options),
            "'x' has random integers from 0 to 1: --range x:LOW:HIGH draws "
            "others");
  EXPECT_EQ(ContentAdvice(ModelWithInput("BYTES", {4}, 0).metadata, options),
            "'x' has random letters: --data sends real texts");
  EXPECT_EQ(ContentAdvice(ModelWithInput("FP32", {4}, 0).metadata, options),
            "'x' has random numbers from -1 to 1: --data sends real ones");
  options.ranges["x"] = {5, 900};
  options.shapes["x"] = {16, 4};
  EXPECT_EQ(
      ContentAdvice(ModelWithInput("UINT8", {-1, 4}, 0).metadata, options),
      "'x' has random integers from 5 to 900, by --range: perhaps not "
      "all are in its vocabulary, and the shape 16,4, by --shape");
  options.data = "real.json";
  EXPECT_EQ(ContentAdvice(ModelWithInput("INT8", {4}, 0).metadata, options),
            "contents are those of --data real.json");
}

TEST(RequestPoolTest, AdviceIsOfErrorsThatContentsMayCause) {
  EXPECT_EQ(WithAdvice(absl::InternalError("failed"), "advice").message(),
            "failed; advice");
  EXPECT_EQ(WithAdvice(absl::UnavailableError("gone"), "advice").message(),
            "gone");
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

InputSpec Input(const char* name, std::vector<int64_t> dims) {
  return {name, DataType::kUint8, std::move(dims), true, false};
}

std::vector<Sample> Numbered(int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back({{"x", {{1}, std::string(1, static_cast<char>(i))}}});
  }
  return samples;
}

using Requests = std::vector<inference::ModelInferRequest>;

absl::StatusOr<Requests> PayloadRequests(
    const inference::ModelMetadataResponse& metadata,
    const std::vector<InputSpec>& inputs, const std::vector<Sample>& samples,
    const RequestPoolOptions& options) {
  Requests requests;
  const absl::Status made =
      ForEachPayloadRequest(metadata, inputs, samples, options,
                            [&](inference::ModelInferRequest& request) {
                              requests.push_back(std::move(request));
                            });
  return made.ok() ? absl::StatusOr<Requests>(std::move(requests)) : made;
}

std::vector<std::string> RequestsOf(const std::vector<Sample>& samples,
                                    const RequestPoolOptions& options) {
  inference::ModelMetadataResponse metadata;
  metadata.set_name("m");
  const auto requests =
      PayloadRequests(metadata, {Input("x", {1})}, samples, options);
  EXPECT_TRUE(requests.ok()) << requests.status();
  std::vector<std::string> bytes;
  for (const auto& request : *requests) {
    EXPECT_THAT(request.inputs(0).shape(), ElementsAre(options.rows, 1));
    bytes.push_back(request.raw_input_contents(0));
  }
  return bytes;
}

TEST(PayloadPoolTest, SamplesAreTakenInTurnEachEquallyOften) {
  RequestPoolOptions options;
  options.rows = 1;
  EXPECT_THAT(RequestsOf(Numbered(3), options),
              ElementsAre(std::string(1, 0), "\x01", "\x02"));
  options.rows = 2;
  EXPECT_THAT(RequestsOf(Numbered(3), options),
              ElementsAre(std::string("\x00\x01", 2),
                          std::string("\x02\x00", 2), "\x01\x02"));
  options.rows = 4;  // more than there are
  EXPECT_THAT(RequestsOf(Numbered(2), options),
              ElementsAre(std::string("\x00\x01\x00\x01", 4)));
}

TEST(PayloadPoolTest, OrDrawnByTheSeed) {
  RequestPoolOptions options;
  options.draws_samples = true;
  options.count = 50;
  options.seed = 3;
  const auto drawn = RequestsOf(Numbered(10), options);
  EXPECT_THAT(drawn, SizeIs(50));
  EXPECT_EQ(drawn, RequestsOf(Numbered(10), options));
  options.seed = 4;
  EXPECT_NE(drawn, RequestsOf(Numbered(10), options));
}

TEST(PayloadPoolTest, RowsOfOneRequestAreOfOneShape) {
  std::vector<Sample> samples = Numbered(2);
  samples[1].at("x").dims = {3};
  RequestPoolOptions options;
  options.rows = 2;
  const auto requests =
      PayloadRequests({}, {Input("x", {-1})}, samples, options);
  EXPECT_THAT(std::string(requests.status().message()),
              HasSubstr("found [1] in sample 1 and [3] in sample 2; --rows 1"));
}

// 101 samples of 100 KiB by 512 rows: 10 MiB that would be 5050.
TEST(PayloadPoolTest, MoreInTurnThanFitsIsRefusedBeforeAnyIsMade) {
  const std::vector<Sample> samples(
      101, Sample{{"x", {{100 << 10}, std::string(100 << 10, 'x')}}});
  RequestPoolOptions options;
  options.rows = 512;
  int made = 0;
  const absl::Status status =
      ForEachPayloadRequest({}, {Input("x", {-1})}, samples, options,
                            [&](auto& /*request*/) { ++made; });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(made, 0);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expected requests of 4096.0 MiB in all at most, found "
                        "5050.0 MiB: 101 requests of 512 rows, which send each "
                        "of 101 samples equally often; --data-order random "
                        "--requests 81 draws about as many as fit"));
  // What it says to do does it.
  options.draws_samples = true;
  options.count = 2;
  EXPECT_TRUE(ForEachPayloadRequest({}, {Input("x", {-1})}, samples, options,
                                    [&](auto& /*request*/) { ++made; })
                  .ok());
  EXPECT_EQ(made, 2);
}

TEST(PayloadPoolTest, DrawnRequestsAreBoundedToo) {
  RequestPoolOptions options;
  options.draws_samples = true;
  options.rows = 4;
  options.count = 3;
  options.most_bytes = 12;
  EXPECT_THAT(RequestsOf(Numbered(10), options), SizeIs(3));
  options.count = 4;
  const auto requests =
      PayloadRequests({}, {Input("x", {1})}, Numbered(10), options);
  EXPECT_THAT(std::string(requests.status().message()),
              HasSubstr("found more in 4 of 4; fewer --requests fit"));
}

TEST(PayloadPoolTest, ARequestIsBoundedOverAllItsInputs) {
  const std::vector<Sample> samples = {
      {{"x", {{1 << 20}, std::string(1 << 20, 'x')}},
       {"y", {{1 << 20}, std::string(1 << 20, 'y')}}}};
  RequestPoolOptions options;
  options.rows = 600;  // 600 MiB of each
  const auto requests = PayloadRequests(
      {}, {Input("x", {-1}), Input("y", {-1})}, samples, options);
  EXPECT_THAT(std::string(requests.status().message()),
              HasSubstr("requests of 1024 MiB at most, found 1200.0 MiB; fewer "
                        "--rows"));
}

TEST(PayloadPoolTest, AnOptionalInputMayBeLeftOut) {
  inference::ModelMetadataResponse metadata;
  inference::ModelConfig config;
  config.set_max_batch_size(8);
  for (const char* name : {"x", "mask"}) {
    auto* const input = metadata.add_inputs();
    input->set_name(name);
    input->set_datatype("UINT8");
    input->add_shape(-1);
    input->add_shape(1);
    config.add_input()->set_name(name);
  }
  config.mutable_input(1)->set_optional(true);
  const auto inputs = InputSpecs(metadata, config, {});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto samples =
      ParseJsonPayload(R"({"data": [{"x": [1]}]})", "data.json", *inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  const auto requests = PayloadRequests(metadata, *inputs, *samples, {});
  ASSERT_TRUE(requests.ok()) << requests.status();
  EXPECT_EQ(requests->front().inputs_size(), 1);
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
