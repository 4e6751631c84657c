// Tests that flags describe one model, and which files are none to serve.
#include "models/repository/single_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/config/not_served.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(const SingleModelFlags& flags) {
  return std::string(DescribeSingleModel(flags).status().message());
}

TEST(SingleModelTest, FlagsBecomeAConfig) {
  const auto model =
      DescribeSingleModel({.path = "/models/resnet.v2.pt",
                           .name = "",
                           .inputs = {"x:FP32:-1,3,224,-1", "a:b:INT64:-1"},
                           .outputs = {"y:FP16:-1,1000"}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->name, "resnet.v2");
  const inference::ModelConfig& config = model->config;
  EXPECT_EQ(config.default_model_filename(), "resnet.v2.pt");
  EXPECT_EQ(config.max_batch_size(), 64);
  EXPECT_TRUE(config.has_dynamic_batching());
  EXPECT_THAT(config.input(0).dims(), ElementsAre(3, 224, -1));
  EXPECT_EQ(config.input(1).name(), "a:b");
  EXPECT_EQ(config.input(1).data_type(), inference::TYPE_INT64);
  EXPECT_EQ(config.input(1).dims_size(), 0);
  EXPECT_EQ(config.output(0).data_type(), inference::TYPE_FP16);
}

TEST(SingleModelTest, WithoutABatchDimensionEachRequestIsABatch) {
  const auto model = DescribeSingleModel(
      {.path = "m.pt", .name = "", .inputs = {"x:FP32:3,-1"}, .outputs = {}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.max_batch_size(), 0);
  EXPECT_FALSE(model->config.has_dynamic_batching());
  EXPECT_THAT(model->config.input(0).dims(), ElementsAre(3, -1));
}

TEST(SingleModelTest, NameIsMadeOfTheFilesUnlessAFlagSaysIt) {
  const std::pair<const char*, const char*> names[] = {
      {"my model (1).pt", "my_model__1_"},
      {"/a/.hidden.pt", "_hidden"},
      {"größe.pt", "gr____e"},
      {"7", "7"},
      {"/a/.pt", "_pt"}};
  for (const auto& [path, name] : names) {
    const auto model = DescribeSingleModel(
        {.path = path, .name = "", .inputs = {}, .outputs = {}});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->name, name);
  }
  const std::string long_name(200, 'a');
  EXPECT_EQ(DescribeSingleModel(
                {.path = long_name, .name = "", .inputs = {}, .outputs = {}})
                ->name.size(),
            64u);
  EXPECT_EQ(DescribeSingleModel(
                {.path = "x.pt", .name = "net", .inputs = {}, .outputs = {}})
                ->name,
            "net");
  EXPECT_THAT(
      MessageOf({.path = "x.pt", .name = "a/b", .inputs = {}, .outputs = {}}),
      HasSubstr("--model-name: model name: expected"));
}

TEST(SingleModelTest, WrongTensorsSayWhatWasExpectedAndFound) {
  const std::pair<const char*, const char*> wrong[] = {
      {"x", "expected NAME:TYPE:DIMS as in x:FP32:-1,3,224,224, got 'x'"},
      {"x:FP32", "expected NAME:TYPE:DIMS"},
      {":FP32:1", "expected NAME:TYPE:DIMS"},
      {"", "expected NAME:TYPE:DIMS"},
      {":", "expected NAME:TYPE:DIMS"},
      {"x:float:1", "expected a type after the name"},
      {"x::1", "expected a type after the name"},
      {"x:FP32:", "expected sizes"},
      {"x:FP32:3,,4", "expected sizes"},
      {"x:FP32:-2", "expected sizes"},
      {"x:FP32:0", "expected sizes"},
      {"x:FP32:3x4", "got 'x:FP32:3x4'"},
      {"x:FP32:99999999999999999999", "expected sizes"}};
  for (const auto& [text, message] : wrong) {
    EXPECT_THAT(
        MessageOf(
            {.path = "m.pt", .name = "", .inputs = {text}, .outputs = {}}),
        ::testing::AllOf(HasSubstr("--input: "), HasSubstr(message)))
        << text;
    EXPECT_THAT(
        MessageOf(
            {.path = "m.pt", .name = "", .inputs = {}, .outputs = {text}}),
        HasSubstr("--output: "))
        << text;
  }
  EXPECT_THAT(MessageOf({.path = "m.pt",
                         .name = "",
                         .inputs = {"x:FP32:-1,4"},
                         .outputs = {"y:FP32:1,4"}}),
              HasSubstr("in each tensor or in none, got it in 'x' and not in "
                        "'y'"));
}

TEST(SingleModelTest, FilesThatAreNoModelAreRefusedWithARemedy) {
  const TempFolder folder;
  EXPECT_TRUE(CheckModelFile(folder.Write("m.pt", "x")).ok());
  EXPECT_TRUE(CheckModelFile(folder.Write("noending", "x")).ok());
  EXPECT_EQ(CheckModelFile(folder.path("none.pt")).code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(CheckModelFile(folder.path()).message()),
              HasSubstr("use --model-repository"));
  const std::pair<const char*, const char*> refused[] = {
      {"m.onnx", "ONNX is not served: export the PyTorch model"},
      {"m.ONNX", "ONNX is not served"},
      {"m.plan", "TensorRT engines are not served: export"},
      {"m.engine", "TensorRT engines are not served"},
      {"m.py", "Python backend is not served: move the code"},
      {"m.safetensors", "weights alone are not served: build the network"},
      {"m.pb", "TensorFlow models are not served"}};
  for (const auto& [name, message] : refused) {
    const absl::Status status = CheckModelFile(folder.Write(name, "x"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(NotServedTest, BackendsThatPeopleKnowHaveAdvice) {
  for (const char* name :
       {"onnxruntime", "onnxruntime_onnx", "tensorrt", "tensorrt_plan",
        "python", "ensemble", "tensorflow", "vllm", "tensorrtllm"}) {
    EXPECT_THAT(std::string(AdviceOnBackend(name)), HasSubstr("not served: "));
  }
  EXPECT_EQ(AdviceOnBackend("pytorch"), "");
  EXPECT_EQ(AdviceOnFile("model.pt"), "");
}

}  // namespace
}  // namespace ferry
