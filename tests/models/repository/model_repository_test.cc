// Tests ModelRepository: folders, versions, names, fingerprints, and models
// that answer.
#include "models/repository/model_repository.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kEcho[] = R"(
backend: "ferry_echo"
max_batch_size: 8
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output { name: "y" data_type: TYPE_INT64 dims: 1 }
dynamic_batching {}
)";

// Models of a repository, loaded as at start.
struct Loaded {
  std::unique_ptr<ModelRepository> repository;
  std::map<std::string, std::map<int64_t, std::unique_ptr<ServedModel>>> models;
};

absl::Status LoadInto(Loaded& loaded, const std::string& name) {
  const absl::StatusOr<ModelPlan> plan = loaded.repository->Plan(name);
  if (!plan.ok()) {
    return loaded.repository->WithHint(name, plan.status());
  }
  for (const auto& [version, files] : plan->versions) {
    auto model = loaded.repository->Load(*plan, version, DeviceUse::kAlone);
    if (!model.ok()) {
      return model.status();
    }
    loaded.models[name][version] = *std::move(model);
  }
  return absl::OkStatus();
}

absl::StatusOr<Loaded> LoadAll(const ModelRepositoryOptions& options,
                               std::vector<std::string> names = {}) {
  Loaded loaded;
  loaded.repository = std::make_unique<ModelRepository>(options);
  if (names.empty()) {
    const auto found = loaded.repository->DefaultNames();
    if (!found.ok()) {
      return found.status();
    }
    names = *found;
  }
  for (const std::string& name : names) {
    if (absl::Status status = LoadInto(loaded, name); !status.ok()) {
      return status;
    }
  }
  return loaded;
}

absl::StatusOr<Loaded> LoadFrom(const TempFolder& folder) {
  ModelRepositoryOptions options;
  options.path = folder.path();
  return LoadAll(options);
}

TEST(ModelRepositoryTest, ServesAModelOfAFolder) {
  const TempFolder folder;
  folder.Write("echo/config.pbtxt", kEcho);
  const auto loaded = LoadFrom(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ServedModel& model = *loaded->models.at("echo").at(1);
  EXPECT_EQ(model.platform, "ferry_echo");
  EXPECT_EQ(model.config.name(), "echo");
  TestRequest request({.id = 5, .rows = 3});
  ASSERT_TRUE(model.scheduler->Submit(request.request()).ok());
  request.completion().WaitUntilAnswered();
  EXPECT_TRUE(request.HasOwnRows());
  request.completion().DropOutput();
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
  const auto loaded = LoadFrom(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->models.at("latest"), ElementsAre(Key(10)));
  EXPECT_THAT(loaded->models.at("all"), ElementsAre(Key(1), Key(2), Key(10)));
}

TEST(ModelRepositoryTest, VersionZeroIsAVersion) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", kEcho);
  std::filesystem::create_directories(folder.path("m/0"));
  std::filesystem::create_directories(folder.path("m/00"));
  const auto loaded = LoadFrom(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->models.at("m"), ElementsAre(Key(0)));
}

TEST(ModelRepositoryTest, FoldersThatAreNoVersionAreNamed) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt",
               "backend: \"pytorch\" max_batch_size: 1\n"
               "input { name: \"x\" data_type: TYPE_FP32 dims: 1 }\n"
               "output { name: \"y\" data_type: TYPE_FP32 dims: 1 }\n");
  for (const char* other : {"m/01", "m/v1", "m/-1", "m/warmup"}) {
    std::filesystem::create_directories(folder.path(other));
  }
  EXPECT_THAT(LoadFrom(folder).status().ToString(),
              HasSubstr("expected a version folder such as '1', got '-1', "
                        "'01', 'v1'; each folder"));
}

TEST(ModelRepositoryTest, WhatIsNoModelIsPassedOver) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  folder.Write("m/config.pbtxt", kEcho);
  folder.Write("README.md", "a file");
  for (const char* other : {"lost+found", "a b", ".hidden", "@eaDir"}) {
    fs::create_directories(folder.path(other));
  }
  fs::create_symlink("nowhere", folder.path("dangling"));
  fs::create_symlink("loop", folder.path("loop"));
  fs::create_symlink("m", folder.path("alias"));
  ModelRepositoryOptions options;
  options.path = folder.path();
  const absl::StatusOr<RepositoryNames> names = ModelRepository(options).List();
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(names->models, ElementsAre("alias", "m"));
  EXPECT_THAT(
      names->passed_over,
      ElementsAre(Pair("@eaDir", HasSubstr("model name: expected 1 to")),
                  Pair("a b", HasSubstr("got 'a b'")),
                  Pair("dangling", HasSubstr("cannot look at it: No such")),
                  Pair("loop", HasSubstr("cannot look at it: ")),
                  Pair("lost+found", HasSubstr("got 'lost+found'"))));
}

TEST(ModelRepositoryTest, ModelThatIsNotThereIsToldWithThoseThatAre) {
  const TempFolder folder;
  folder.Write("echo/config.pbtxt", kEcho);
  std::filesystem::create_symlink("loop", folder.path("loop"));
  ModelRepositoryOptions options;
  options.path = folder.path();
  const ModelRepository repository(options);
  const absl::Status absent = repository.Plan("ech").status();
  folder.Write("other/config.pbtxt", kEcho);
  EXPECT_EQ(repository.Plan("ech").status(), absent)
      << "polls look whether it has changed";
  EXPECT_THAT(repository.WithHint("ech", absent).ToString(),
              HasSubstr("; there are: echo, other"));
  EXPECT_EQ(repository.WithHint("echo", absent), absent) << "it is there";
  const absl::Status unread = repository.Plan("loop").status();
  EXPECT_FALSE(unread.ok());
  EXPECT_EQ(repository.WithHint("loop", unread), unread);
}

std::string HintIn(const std::string& path) {
  ModelRepositoryOptions options;
  options.path = path;
  const ModelRepository repository(options);
  return std::string(
      repository
          .ForClients(repository.WithHint("m", absl::NotFoundError("none")))
          .message());
}

TEST(ModelRepositoryTest, FolderOfOneModelIsTold) {
  const TempFolder folder;
  folder.Write("1/model.pt", "");
  constexpr char kEnd[] = "': give the folder that it lies in";
  constexpr char kBegin[] =
      "none; the model repository is one model's folder, as it holds '";
  EXPECT_EQ(HintIn(folder.path()), absl::StrCat(kBegin, "1", kEnd));
  folder.Write("config.pbtxt", kEcho);
  for (const char* version : {"0", "2", "3"}) {
    std::filesystem::create_directories(folder.path(version));
    EXPECT_EQ(HintIn(folder.path()),
              absl::StrCat(kBegin, "config.pbtxt", kEnd));
  }
}

TEST(ModelRepositoryTest, ModelMayBeCalledByANumber) {
  const TempFolder folder;
  folder.Write("7/config.pbtxt", kEcho);
  EXPECT_EQ(HintIn(folder.path()), "none; there are: 7");
}

// Root may read all, so what is too deep to be looked at stands for it.
TEST(ModelRepositoryTest, FolderThatCannotBeReadIsNotSaidToBeMissing) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", kEcho);
  std::filesystem::create_symlink("1", folder.path("m/1"));
  EXPECT_EQ(LoadFrom(folder).status().code(), absl::StatusCode::kUnavailable);
}

std::string FingerprintOf(const TempFolder& folder) {
  ModelRepositoryOptions options;
  options.path = folder.path();
  const auto plan = ModelRepository(options).Plan("m");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->versions.at(1).fingerprint : "";
}

TEST(ModelRepositoryTest, FingerprintTellsWhetherConfigOrFilesHaveChanged) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", kEcho);
  folder.Write("m/1/model.pt", "one");
  const std::string first = FingerprintOf(folder);
  EXPECT_EQ(FingerprintOf(folder), first);
  folder.Write("m/config.pbtxt", std::string(kEcho) + "# a comment\n");
  EXPECT_EQ(FingerprintOf(folder), first) << "says the same";
  folder.Write("m/config.pbtxt",
               std::string(kEcho) + "instance_group { count: 2 }");
  const std::string second = FingerprintOf(folder);
  EXPECT_NE(second, first);
  folder.Write("m/1/model.pt", "other");
  const std::string third = FingerprintOf(folder);
  EXPECT_NE(third, second);
  folder.Write("m/warmup/row", "1");
  const std::string fourth = FingerprintOf(folder);
  EXPECT_NE(fourth, third);
  folder.Write("m/warmup/row", "12");
  EXPECT_NE(FingerprintOf(folder), fourth);
}

TEST(ModelRepositoryTest, ConfigOfAClientReplacesTheFiles) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", kEcho);
  ModelRepositoryOptions options;
  options.path = folder.path();
  const ModelRepository repository(options);
  auto plan = repository.Plan("m", R"({"backend": "ferry_echo",
      "max_batch_size": 4,
      "input": [{"name": "a", "data_type": "TYPE_FP32", "dims": ["2"]}],
      "output": [{"name": "b", "data_type": "TYPE_FP32", "dims": [2]}],
      "dynamic_batching": {}})");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->config.options.spec.max_batch_size, 4);
  EXPECT_EQ(plan->config.options.spec.inputs[0].name, "a");
  EXPECT_EQ(plan->config.message.name(), "m");
  for (const char* wrong :
       {"{", "[]", R"({"no_such_field": 1})", R"({"backend": "onnx"})"}) {
    plan = repository.Plan("m", wrong);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(plan.status().message()),
                HasSubstr("config of the load request"));
  }
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
      {"README", "", "holds no model; expected <name>/<version>/model.pt"},
      {"a.pt", "", "found a.pt: --model FILE serves one without a folder"},
      {"1/model.pt", "", "is one model's folder, as it holds '1': give the"},
      {"config.pbtxt", kEcho, "is one model's folder, as it holds 'config."},
      {"m/README", "", "each folder of a model repository is a model, unless"},
      {"m/1/model.onnx", "", "m/1/model.onnx': ONNX is not served: export"},
      {"m/1/model.plan", "", "TensorRT engines are not served: export"},
      {"m/1/model.py", "", "the Python backend is not served: move the code"},
      {"m/1/model.safetensors", "", "weights alone are not served: build"},
      {"bad name/config.pbtxt", kEcho, "got 'bad name'"},
      {"m/config.pbtxt", script, "expected a version folder such as '1'"},
      {"m/config.pbtxt",
       std::string(kEcho) + "version_policy { specific { versions: 4 } }",
       "version 4, which version_policy names, has no folder; it may name: 1"},
      {"m/config.pbtxt",
       std::string(script) + "version_policy { specific { versions: 4 } }",
       "expected a version folder such as '1', got none; each folder of a"},
  };
  for (const Refusal& refusal : refusals) {
    const TempFolder folder;
    folder.Write(refusal.file, refusal.config);
    const auto loaded = LoadFrom(folder);
    ASSERT_FALSE(loaded.ok()) << refusal.file;
    EXPECT_THAT(std::string(loaded.status().message()),
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
  auto loaded = LoadFrom(folder);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("model 'm' version 1: cannot read model file"));
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("; the folder holds nothing"));
  folder.Write("m/1/mod.pt", "of another name");
  EXPECT_THAT(LoadFrom(folder).status().ToString(),
              HasSubstr("; the folder holds mod.pt"));
  for (const char* name : {"9", "8", "7", "6", "5", "4", "3", "2", "1"}) {
    folder.Write(absl::StrCat("m/1/", name), "");
  }
  EXPECT_THAT(LoadFrom(folder).status().ToString(),
              HasSubstr("; the folder holds 1, 2, 3, 4, 5, 6, 7, 8, ..."));
  folder.Write("m/1/model.pt", "not a model");
  loaded = LoadFrom(folder);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("m/1/model.pt"));
}

TEST(ModelRepositoryTest, FolderThatCannotBeListedIsNotSaidToHoldNothing) {
  const TempFolder folder;
  folder.Write("m/1/model.pt", "a model");
  ModelRepositoryOptions options;
  options.path = folder.path();
  ModelRepository repository(options);
  const auto plan = repository.Plan("m");
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::filesystem::remove_all(folder.path("m/1"));
  const auto loaded = repository.Load(*plan, 1, DeviceUse::kAlone);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(loaded.status().ToString(), Not(HasSubstr("the folder holds")));
}

TEST(ModelRepositoryTest, ConfigMustSayAllWhereCompletionIsOff) {
  const TempFolder folder;
  folder.Write("none/1/model.pt", "x");
  folder.Write("partly/config.pbtxt",
               "input { name: \"x\" data_type: TYPE_FP32 dims: 4 }");
  folder.Write("partly/1/model.pt", "x");
  ModelRepositoryOptions options;
  options.path = folder.path();
  EXPECT_TRUE(ModelRepository(options).Plan("none").ok());
  EXPECT_TRUE(ModelRepository(options).Plan("partly").ok());
  options.completion = ConfigCompletion::kOff;
  const ModelRepository strict(options);
  EXPECT_THAT(std::string(strict.Plan("none").status().message()),
              HasSubstr("cannot read model config"));
  EXPECT_THAT(
      std::string(strict.Plan("partly").status().message()),
      HasSubstr("with --disable-auto-complete-config it must say both"));
}

TEST(ModelRepositoryTest, OneModelOfFlagsIsAllThereIs) {
  const TempFolder folder;
  ModelRepositoryOptions options;
  options.single = *DescribeSingleModel({.path = folder.Write("a b.pt", "x"),
                                         .name = "",
                                         .inputs = {"x:FP32:-1,4"},
                                         .outputs = {}});
  options.overrides.max_batch_size = 100;
  const ModelRepository repository(options);
  EXPECT_THAT(*repository.Names(), ElementsAre("a_b"));
  EXPECT_THAT(*repository.DefaultNames(), ElementsAre("a_b"));
  const auto plan = repository.Plan("a_b");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->config.options.spec.max_batch_size, 100) << "more than 64";
  const std::string first = plan->Fingerprint();
  folder.Write("beside", "x");
  EXPECT_EQ(repository.Plan("a_b")->Fingerprint(), first);
  folder.Write("a b.pt", "other");
  EXPECT_NE(repository.Plan("a_b")->Fingerprint(), first);
  EXPECT_THAT(std::string(repository.Plan("mlp").status().message()),
              HasSubstr("expected 'a_b', the one that --model names"));
}

TEST(ModelRepositoryTest, NamesDoNotLeaveTheFolder) {
  const TempFolder folder;
  folder.Write("models/echo/config.pbtxt", kEcho);
  folder.Write("outside/config.pbtxt", kEcho);
  for (const char* name : {"../outside", "..", ".", "", "a/b", "echo\n"}) {
    ModelRepositoryOptions options;
    options.path = folder.path("models");
    EXPECT_EQ(ModelRepository(options).Plan(name).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST(ModelRepositoryTest, LinksDoNotLeaveTheFolder) {
  const TempFolder folder;
  folder.Write("models/echo/config.pbtxt", kEcho);
  folder.Write("outside/config.pbtxt", kEcho);
  std::filesystem::create_directory_symlink(folder.path("outside"),
                                            folder.path("models/out"));
  std::filesystem::create_directory_symlink(folder.path("models/echo"),
                                            folder.path("models/in"));
  ModelRepositoryOptions options;
  options.path = folder.path("models");
  const ModelRepository repository(options);
  EXPECT_TRUE(repository.Plan("in").ok());
  EXPECT_EQ(repository.Plan("out").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(repository.Plan("none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ModelRepositoryTest, FolderThatIsMissingIsNotFound) {
  ModelRepositoryOptions options;
  options.path = "/no/such/folder";
  EXPECT_EQ(LoadAll(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(ModelRepositoryTest, EmbeddedMlpServesWithoutAFile) {
  ModelRepositoryOptions options;
  options.overrides.max_batch_size = 2;
  const auto loaded = LoadAll(options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ServedModel& model = *loaded->models.at("mlp").at(1);
  EXPECT_EQ(model.platform, "ferry_network");
  EXPECT_EQ(model.spec.max_batch_size, 2);
  EXPECT_FALSE(model.is_simulated);

  const std::vector<float> values(1024, 0.5F);
  const std::vector<int64_t> dims = {1024};
  const ferry::ByteSegment segment = {
      reinterpret_cast<const std::byte*>(values.data()), 4096};
  const TensorView view = {dims, {&segment, 1}};
  CountingCompletion completion;
  InferRequest request;
  request.inputs = {&view, 1};
  request.bytes = segment.size;
  request.completion = &completion;
  ASSERT_TRUE(model.scheduler->Submit(request).ok());
  completion.WaitUntilAnswered();
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
  const auto loaded = LoadFrom(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Scheduler& scheduler = *loaded->models.at("net").at(1)->scheduler;
  const std::vector<float> values(8, 0.25F);
  const std::vector<int64_t> dims = {8};
  const ferry::ByteSegment segment = {
      reinterpret_cast<const std::byte*>(values.data()), 32};
  const TensorView view = {dims, {&segment, 1}};
  std::vector<CountingCompletion> completions(64);
  std::vector<InferRequest> requests(completions.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].inputs = {&view, 1};
    requests[i].bytes = segment.size;
    requests[i].completion = &completions[i];
    ASSERT_TRUE(scheduler.Submit(requests[i]).ok());
  }
  std::vector<std::string> answers;
  for (CountingCompletion& completion : completions) {
    completion.WaitUntilAnswered();
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
  EXPECT_THAT(std::string(LoadAll({}, {"gpt"}).status().message()),
              HasSubstr("mlp, resnet50, encoder"));
}

}  // namespace
}  // namespace ferry
