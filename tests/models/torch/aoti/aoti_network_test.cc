// Tests AOTInductor packages through an instance: tests/data/aoti/small.pt2
// runs on every x86-64 processor (make_package.py beside it has its source).
#include "models/torch/aoti/aoti_network.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/aoti/aoti_archive.h"
#include "tests/models/torch/torch_instance.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPackage[] = FERRY_SOURCE_DIR "/tests/data/aoti/small.pt2";
constexpr char kChecked[] = FERRY_SOURCE_DIR "/tests/data/aoti/checked.pt2";

// The weights are those of make_package.py.
at::Tensor ExpectedY(const at::Tensor& x) {
  const at::Tensor weight = at::arange(12, at::kFloat).reshape({4, 3}) / 8;
  return at::relu(at::linear(x.to(at::kFloat), weight - 0.5,
                             at::arange(4, at::kFloat) / 4));
}

// Lines of this process's maps that name an unpacked library.
int MappedLibraries() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int count = 0;
  while (std::getline(maps, line)) {
    count += line.find("/model.so") != std::string::npos ? 1 : 0;
  }
  return count;
}

class AotiNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "the package that is kept runs on x86-64";
#endif
    setenv("TMPDIR", unpacked_.path().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    EXPECT_TRUE(fs::is_empty(unpacked_.path()))
        << "files that were unpacked are left";
  }

  // Copies the package into the folder under that name.
  std::string Copy(const std::string& name) const {
    fs::copy_file(kPackage, folder_.path(name),
                  fs::copy_options::overwrite_existing);
    return folder_.path(name);
  }

  static ModelOptions Options() {
    ModelOptions options;
    options.name = "small";
    options.backend = BackendKind::kAotInductor;
    options.spec = {
        {{"ARGS[0]", DataType::kFp32, {3}}, {"k", DataType::kInt64, {1}}},
        {{"y", DataType::kFp32, {4}},
         {"RESULT[z][0]", DataType::kFp32, {1}},
         {"RESULT[z][1]", DataType::kInt64, {1}}},
        8};
    return options;
  }

  static std::string LoadError(const ModelOptions& options,
                               const std::string& path = kPackage) {
    const auto instance = TorchInstance::Create(options, path);
    EXPECT_FALSE(instance.ok());
    return std::string(instance.status().message());
  }

  const TempFolder folder_;
  const TempFolder unpacked_;
};

void ExpectAnswers(const InstanceResult& result, const at::Tensor& x,
                   const at::Tensor& k, double tolerance = 1e-5) {
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::allclose(result.outputs[0].to(at::kFloat), ExpectedY(x),
                           tolerance, tolerance));
  EXPECT_TRUE(at::allclose(result.outputs[1].to(at::kFloat),
                           x.to(at::kFloat).sum(1, true), tolerance,
                           tolerance));
  EXPECT_TRUE(at::equal(result.outputs[2], k + 1));
}

TEST_F(AotiNetworkTest, EverySizeOfABatchIsServed) {
  auto instance = TorchInstance::Create(Options(), kPackage);
  ASSERT_TRUE(instance.ok()) << instance.status();
  for (int64_t rows : {1, 2, 5, 8}) {
    const at::Tensor x = at::randn({rows, 3});
    const at::Tensor k = at::arange(rows).reshape({rows, 1});
    ExpectAnswers(instance->Run({x, k}), x, k);
  }
}

TEST_F(AotiNetworkTest, TensorsArePlacedByNameWhateverTheirOrder) {
  ModelOptions options = Options();
  std::swap(options.spec.inputs[0], options.spec.inputs[1]);
  std::swap(options.spec.outputs[0], options.spec.outputs[2]);
  auto instance = TorchInstance::Create(options, kPackage);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const at::Tensor x = at::randn({2, 3});
  const at::Tensor k = at::ones({2, 1}, at::kLong);
  InstanceResult result = instance->Run({k, x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  std::swap(result.outputs[0], result.outputs[2]);
  ExpectAnswers(result, x, k);
}

TEST_F(AotiNetworkTest, FloatsAreCastToThePackagesTypeAndBack) {
  for (DataType type : {DataType::kFp16, DataType::kBf16, DataType::kFp64}) {
    ModelOptions options = Options();
    options.spec.inputs[0].type = type;
    options.spec.outputs[0].type = type;
    auto instance = TorchInstance::Create(options, kPackage);
    ASSERT_TRUE(instance.ok()) << instance.status();
    const at::Tensor x = at::randn({3, 3}).to(ToScalarType(type));
    const at::Tensor k = at::ones({3, 1}, at::kLong);
    ExpectAnswers(instance->Run({x, k}), x, k, 0.02);
  }
}

TEST_F(AotiNetworkTest, BucketHasItsOwnPackageWhereThereIsOne) {
  ModelOptions options = Options();
  options.buckets = {2, 8};
  const std::string path = folder_.path("m.pt2");
  EXPECT_THAT(LoadError(options, path), HasSubstr("cannot read model file"));
  Copy("m_b2.pt2");
  EXPECT_THAT(LoadError(options, path), HasSubstr("m.pt2"))
      << "nothing for the bucket 8";
  Copy("m_b8.pt2");
  auto instance = TorchInstance::Create(options, path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  for (int64_t rows : {1, 3}) {
    const at::Tensor x = at::randn({rows, 3});
    const at::Tensor k = at::ones({rows, 1}, at::kLong);
    ExpectAnswers(instance->Run({x, k}), x, k);
  }
  folder_.Write("m_b2.pt2", "broken");
  EXPECT_THAT(LoadError(options, path), HasSubstr("m_b2.pt2"));
  options.buckets = {8};
  EXPECT_TRUE(TorchInstance::Create(options, path).ok());
}

// A package of another weight gives a row beside others another answer.
TEST_F(AotiNetworkTest, RowsThatAreMixedNeedAPackageWithoutABucket) {
  ModelOptions options = Options();
  options.buckets = {2, 8};
  Copy("m_b2.pt2");
  caffe2::serialize::PyTorchStreamReader reader(kPackage);
  AotiArchive other = {.metadata = "", .source = "", .others = {}};
  for (const std::string& name : reader.getAllRecords()) {
    const auto [data, size] = reader.getRecord(name);
    std::string contents(static_cast<const char*>(data.get()), size);
    const float weight[] = {-0.5F, -0.375F, -0.25F};
    const size_t at = contents.find(
        std::string(reinterpret_cast<const char*>(weight), sizeof(weight)));
    if (at != std::string::npos) {
      contents[at + sizeof(float) - 1] = 0x40;  // 2
    }
    if (!absl::StartsWith(name, ".data/")) {
      other.others[name] = contents;
    }
  }
  other.Write(folder_.path("m_b8.pt2"));
  const std::string path = folder_.path("m.pt2");
  EXPECT_THAT(LoadError(options, path),
              AllOf(HasSubstr("it mixes the rows of a batch, in output 'y'"),
                    HasSubstr("has packages of ferry.buckets alone")));
  Copy("m.pt2");
  auto instance = TorchInstance::Create(options, path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const at::Tensor x = at::randn({3, 3});
  const at::Tensor k = at::ones({3, 1}, at::kLong);
  ExpectAnswers(instance->Run({x, k}), x, k);
}

TEST_F(AotiNetworkTest, ConfigThatDoesNotFitIsRefusedAtLoad) {
  ModelOptions options = Options();
  options.spec.inputs[0].dims = {4};
  EXPECT_THAT(LoadError(options),
              HasSubstr("small.pt2: input 'ARGS[0]': the package takes sizes "
                        "[0..8,3], got [1,4]"));
  options = Options();
  options.spec.max_batch_size = 16;
  EXPECT_THAT(LoadError(options), HasSubstr("[0..8,3], got [16,3]"));
  options = Options();
  options.spec.max_batch_size = 0;
  EXPECT_THAT(LoadError(options), HasSubstr("[0..8,3], got [3]"));
  options = Options();
  options.spec.inputs[1].type = DataType::kInt32;
  EXPECT_THAT(LoadError(options), HasSubstr("input 'k': the config has INT32, "
                                            "the package takes Long"));
  options = Options();
  options.spec.outputs[0].dims = {5};
  EXPECT_THAT(LoadError(options),
              HasSubstr("output 'y': expected shape [1,5]"));
  options = Options();
  options.spec.outputs.pop_back();
  EXPECT_THAT(LoadError(options), HasSubstr("outputs: the config has 2, the "
                                            "package 3"));
}

TEST_F(AotiNetworkTest, ShapeThatThePackageDoesNotTakeFailsItsBatchOnly) {
  ModelOptions options = Options();
  options.spec.inputs[0].dims = {kAnySize};
  auto instance = TorchInstance::Create(options, kPackage);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const at::Tensor k = at::ones({2, 1}, at::kLong);
  EXPECT_EQ(instance->Run({at::ones({2, 1}), k}).outcome.code,
            absl::StatusCode::kInternal);
  const at::Tensor x = at::ones({2, 3});
  ExpectAnswers(instance->Run({x, k}), x, k);
}

// checked.pt2 gives table[i] + max(n) + n / d.
TEST_F(AotiNetworkTest, EachCheckThatARequestFailsFailsItsBatchOnly) {
  ModelOptions options;
  options.name = "checked";
  options.backend = BackendKind::kAotInductor;
  options.spec = {{{"i", DataType::kInt64, {1}},
                   {"ok", DataType::kInt64, {1}},
                   {"n", DataType::kInt64, {1}},
                   {"d", DataType::kInt64, {1}}},
                  {{"y", DataType::kFp32, {1}}},
                  8};
  WarmUpSample ones;
  ones.name = "ones";
  const int64_t one = 1;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&one);
  for (const char* input : {"i", "ok", "n", "d"}) {
    ones.inputs[input] = {DataType::kInt64,
                          {1},
                          WarmUpSample::Data::kFile,
                          "one",
                          std::make_shared<const std::vector<std::byte>>(
                              bytes, bytes + sizeof(one))};
  }
  options.warm_up = {ones};
  auto instance = TorchInstance::Create(options, kChecked);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const auto run = [&instance](int64_t i, int64_t ok, int64_t n, int64_t d) {
    std::vector<at::Tensor> inputs;
    for (const int64_t value : {i, ok, n, d}) {
      inputs.push_back(at::ones({2, 1}, at::kLong));
      inputs.back()[1] = value;
    }
    return instance->Run(inputs);
  };
  const auto expect_good = [&run] {
    const InstanceResult result = run(-3, 1, 6, 2);
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
    EXPECT_EQ(result.outputs[0][1].item<float>(), 7 + 6 + 3);
  };
  expect_good();
  EXPECT_FALSE(run(200, 1, 1, 1).outcome.ok()) << "an index past the table";
  EXPECT_FALSE(run(-11, 1, 1, 1).outcome.ok()) << "one before it";
  EXPECT_FALSE(run(1, 0, 1, 1).outcome.ok()) << "an assertion";
  EXPECT_FALSE(run(1, 1, 13, 1).outcome.ok()) << "a number that is checked";
  EXPECT_FALSE(run(1, 1, int64_t{1} << 50, 1).outcome.ok()) << "no memory";
  EXPECT_FALSE(run(1, 1, 1, 0).outcome.ok()) << "a division by zero";
  EXPECT_FALSE(run(1, 1, std::numeric_limits<int64_t>::min(), -1).outcome.ok());
  expect_good();
}

TEST_F(AotiNetworkTest, InstancesComputeAtOnce) {
  ModelOptions options = Options();
  options.instance_count = 2;
  const auto network = LoadAotiNetwork(options, kPackage, at::kCPU);
  ASSERT_TRUE(network.ok()) << network.status();
  const auto compute = [&network](int64_t rows) {
    for (int run = 0; run < 200; ++run) {
      const at::Tensor x = at::full({rows, 3}, run / 100.0);
      Values outputs;
      const absl::Status status = (*network)->Forward(
          {x, at::full({rows, 1}, run, at::kLong)}, outputs);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(at::allclose(outputs[0].toTensor(), ExpectedY(x)));
      EXPECT_EQ(outputs[2].toTensor()[0].item<int64_t>(), run + 1);
    }
  };
  std::thread other(compute, 3);
  compute(8);
  other.join();
}

TEST_F(AotiNetworkTest, NothingStaysMappedWhenTheModelIsGone) {
  for (int round = 0; round < 3; ++round) {
    const auto network = LoadAotiNetwork(Options(), kPackage, at::kCPU);
    ASSERT_TRUE(network.ok()) << network.status();
    EXPECT_GT(MappedLibraries(), 0);
  }
  EXPECT_EQ(MappedLibraries(), 0);
}

TEST_F(AotiNetworkTest, LibraryThatCannotBeOpenedIsRefusedAndRemoved) {
  AotiArchive archive;
  const size_t at = archive.metadata.find("AVX2");
  archive.metadata.replace(at, 4, "INVALID_VEC_ISA");
  archive.others["data/aotinductor/model/w.so"] = "no library";
  const std::string path = archive.Write(folder_.path("m.pt2"));
  EXPECT_THAT(LoadError(Options(), path),
              AllOf(HasSubstr("m.pt2"), HasSubstr("dlopen")));
}

TEST_F(AotiNetworkTest, FolderThatCannotBeMadeIsNamed) {
  setenv("TMPDIR", folder_.path("none").c_str(), 1);
  EXPECT_THAT(LoadError(Options()), HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace ferry
