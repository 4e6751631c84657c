// ModelRepository: folders, versions, names, and models that answer.
#include "models/model_repository.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

constexpr char kEcho[] = R"(
backend: "ferry_echo"
max_batch_size: 8
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output { name: "y" data_type: TYPE_INT64 dims: 1 }
dynamic_batching {}
)";

absl::StatusOr<std::unique_ptr<ModelRepository>> CreateFrom(
    const TempFolder& folder) {
  ModelRepositoryOptions options;
  options.path = folder.path();
  return ModelRepository::Create(options);
}

TEST(ModelRepositoryTest, ServesAModelOfAFolder) {
  const TempFolder folder;
  folder.Write("echo/config.pbtxt", kEcho);
  auto repository = CreateFrom(folder);
  ASSERT_TRUE(repository.ok()) << repository.status();
  const auto model = (*repository)->Find("echo", "");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->version, 1);
  EXPECT_EQ((*model)->platform, "ferry_echo");
  EXPECT_EQ((*model)->config.name(), "echo");
  TestRequest request({.id = 5, .rows = 3});
  ASSERT_TRUE((*model)->batcher->Submit(request.request()).ok());
  request.completion().WaitUntilReleased();
  EXPECT_TRUE(request.HasOwnRows());
  request.completion().DropOutput();
}

TEST(ModelRepositoryTest, FindSaysWhatIsMissing) {
  const TempFolder folder;
  folder.Write("echo/config.pbtxt", kEcho);
  auto repository = CreateFrom(folder);
  ASSERT_TRUE(repository.ok()) << repository.status();
  const ModelRepository& models = **repository;
  EXPECT_EQ(
      models.Find("other", "").status(),
      absl::NotFoundError("Request for unknown model: 'other' is not found"));
  EXPECT_EQ(models.Find("echo", "2").status(),
            absl::NotFoundError(
                "Request for unknown model: 'echo' version 2 is not found"));
  EXPECT_EQ(models.Find("echo", "one").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(models.Find("echo", "1").ok());
}

TEST(ModelRepositoryTest, LatestVersionServesUnlessThePolicySaysOtherwise) {
  const TempFolder folder;
  folder.Write("latest/config.pbtxt", kEcho);
  folder.Write("all/config.pbtxt",
               std::string(kEcho) + "version_policy { all {} }");
  for (const char* model : {"latest", "all"}) {
    for (const char* version : {"1", "2", "10", "010", "notes"}) {
      std::filesystem::create_directories(
          folder.path(std::string(model) + "/" + version));
    }
  }
  auto repository = CreateFrom(folder);
  ASSERT_TRUE(repository.ok()) << repository.status();
  EXPECT_EQ((*(*repository)->Find("latest", ""))->version, 10);
  EXPECT_FALSE((*repository)->Find("latest", "2").ok());
  EXPECT_TRUE((*repository)->Find("all", "2").ok());
  EXPECT_EQ((*repository)->models().size(), 4u);
}

struct Refusal {
  std::string file;
  std::string config;
  std::string message;
};

TEST(ModelRepositoryTest, FolderThatCannotServeSaysWhy) {
  const std::string script = R"(
backend: "pytorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 4 }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
)";
  const Refusal refusals[] = {
      {"README", "", "holds no model"},
      {"m/README", "", "m/config.pbtxt"},
      {"bad name/config.pbtxt", kEcho, "got 'bad name'"},
      {"m/config.pbtxt", script, "expected a version folder such as '1'"},
      {"m/config.pbtxt",
       std::string(kEcho) + "version_policy { specific { versions: 4 } }",
       "version 4, which version_policy names"},
  };
  for (const Refusal& refusal : refusals) {
    const TempFolder folder;
    folder.Write(refusal.file, refusal.config);
    const auto repository = CreateFrom(folder);
    ASSERT_FALSE(repository.ok()) << refusal.file;
    EXPECT_THAT(std::string(repository.status().message()),
                HasSubstr(refusal.message));
  }
}

TEST(ModelRepositoryTest, MissingFilesAreNamed) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", R"(
backend: "pytorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 4 }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
)");
  std::filesystem::create_directories(folder.path("m/1"));
  auto repository = CreateFrom(folder);
  EXPECT_EQ(repository.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(repository.status().message()),
              HasSubstr("model 'm' version 1: cannot read model file"));
  folder.Write("m/1/model.pt", "not a model");
  repository = CreateFrom(folder);
  ASSERT_FALSE(repository.ok());
  EXPECT_THAT(std::string(repository.status().message()),
              HasSubstr("m/1/model.pt"));
}

TEST(ModelRepositoryTest, NamesDoNotLeaveTheFolder) {
  const TempFolder folder;
  folder.Write("models/echo/config.pbtxt", kEcho);
  folder.Write("outside/config.pbtxt", kEcho);
  for (const char* name : {"../outside", "..", ".", "", "a/b", "echo\n"}) {
    ModelRepositoryOptions options;
    options.path = folder.path("models");
    options.load_models = {name};
    EXPECT_EQ(ModelRepository::Create(options).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST(ModelRepositoryTest, FolderThatIsMissingIsNotFound) {
  ModelRepositoryOptions options;
  options.path = "/no/such/folder";
  EXPECT_EQ(ModelRepository::Create(options).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ModelRepositoryTest, EmbeddedMlpServesWithoutAFile) {
  ModelRepositoryOptions options;
  options.overrides.max_batch_size = 2;
  auto repository = ModelRepository::Create(options);
  ASSERT_TRUE(repository.ok()) << repository.status();
  const auto model = (*repository)->Find("mlp", "");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->platform, "ferry_network");
  EXPECT_EQ((*model)->spec.max_batch_size, 2);
  EXPECT_FALSE((*model)->is_simulated);

  const std::vector<float> values(1024, 0.5F);
  const std::vector<int64_t> dims = {1024};
  const ferry::Run run = {reinterpret_cast<const std::byte*>(values.data()),
                          4096};
  const TensorView view = {dims, {&run, 1}};
  CountingCompletion completion;
  InferRequest request;
  request.inputs = {&view, 1};
  request.bytes = run.size;
  request.completion = &completion;
  ASSERT_TRUE((*model)->batcher->Submit(request).ok());
  completion.WaitUntilReleased();
  ASSERT_TRUE(completion.outcome().ok()) << completion.outcome().text;
  EXPECT_EQ(completion.output()->tensors()[0].row_bytes, 4096u);
  completion.DropOutput();
}

TEST(ModelRepositoryTest, InstancesShareTheWeightsAndAnswerAlike) {
  const TempFolder folder;
  folder.Write("net/config.pbtxt", R"(
backend: "ferry_network"
max_batch_size: 1
input { name: "input" data_type: TYPE_FP32 dims: 8 }
output { name: "output" data_type: TYPE_FP32 dims: 8 }
dynamic_batching {}
instance_group { count: 2 }
parameters { key: "ferry.network" value { string_value: "mlp" } }
parameters { key: "ferry.widths" value { string_value: "8,16,8" } }
)");
  auto repository = CreateFrom(folder);
  ASSERT_TRUE(repository.ok()) << repository.status();
  Batcher& batcher = *(*(*repository)->Find("net", ""))->batcher;
  const std::vector<float> values(8, 0.25F);
  const std::vector<int64_t> dims = {8};
  const ferry::Run run = {reinterpret_cast<const std::byte*>(values.data()),
                          32};
  const TensorView view = {dims, {&run, 1}};
  std::vector<CountingCompletion> completions(64);
  std::vector<InferRequest> requests(completions.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].inputs = {&view, 1};
    requests[i].bytes = run.size;
    requests[i].completion = &completions[i];
    ASSERT_TRUE(batcher.Submit(requests[i]).ok());
  }
  std::vector<std::string> answers;
  for (CountingCompletion& completion : completions) {
    completion.WaitUntilReleased();
    ASSERT_TRUE(completion.outcome().ok()) << completion.outcome().text;
    const OutputTensor& output = completion.output()->tensors()[0];
    answers.emplace_back(
        reinterpret_cast<const char*>(output.data) +
            static_cast<size_t>(completion.first_row()) * output.row_bytes,
        output.row_bytes);
    completion.DropOutput();
  }
  EXPECT_THAT(answers, ::testing::Each(answers.front()));
}

TEST(ModelRepositoryTest, UnknownEmbeddedNameListsWhatThereIs) {
  ModelRepositoryOptions options;
  options.load_models = {"gpt"};
  EXPECT_THAT(std::string(ModelRepository::Create(options).status().message()),
              HasSubstr("mlp, resnet50, encoder"));
}

}  // namespace
}  // namespace ferry
