// Tests requests to models of this process: the contents that ferry-bench
// sends, and each answered with its own rows, alone and in company.
#include "bench/inprocess/model_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "batcher/future.h"
#include "bench/inprocess/loaded_model.h"
#include "bench/load/load_generator.h"
#include "tests/models/temp_folder.h"

namespace ferry::bench {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string Tensor(const char* kind, const char* name, const char* type,
                   int size) {
  return absl::StrCat(kind, " { name: \"", name, "\" data_type: TYPE_", type,
                      " dims: ", size, " }\n");
}

// Two inputs of different types, each of which comes back.
std::string Echo(int size) {
  return absl::StrCat(
      "backend: \"ferry_echo\"\nmax_batch_size: 8\n",
      Tensor("input", "a", "FP32", size), Tensor("input", "b", "INT64", 2),
      Tensor("output", "c", "FP32", size), Tensor("output", "d", "INT64", 2),
      "dynamic_batching {}\n");
}

std::string Parameter(const char* key, const char* value) {
  return absl::StrCat("parameters { key: \"ferry.", key,
                      "\" value { string_value: \"", value, "\" } }\n");
}

std::string SmallMlp() {
  return absl::StrCat("backend: \"ferry_network\"\nmax_batch_size: 16\n",
                      Tensor("input", "input", "FP32", 8),
                      Tensor("output", "output", "FP32", 4),
                      "dynamic_batching {}\n", Parameter("network", "mlp"),
                      Parameter("widths", "8,32,4"),
                      Parameter("precision", "fp32"));
}

ModelRepositoryOptions Repository(const std::string& path) {
  ModelRepositoryOptions options;
  options.path = path;
  return options;
}

RequestPoolOptions Drawn(int32_t count, int32_t rows = 1, uint64_t seed = 1) {
  RequestPoolOptions options;
  options.count = count;
  options.rows = rows;
  options.seed = seed;
  return options;
}

std::string BytesOf(const ByteSegment& segment) {
  return std::string(reinterpret_cast<const char*>(segment.data), segment.size);
}

// All answers of `requests`, which are under way together: bytes by output.
using Answers = std::vector<std::vector<std::string>>;

Answers AnswersTo(Scheduler& batcher,
                  const std::vector<RequestInputs>& requests) {
  std::vector<Future> futures;
  for (const RequestInputs& request : requests) {
    auto future =
        Infer(batcher, {.inputs = request.inputs, .rows = request.rows});
    EXPECT_TRUE(future.ok()) << future.status();
    futures.push_back(*std::move(future));
  }
  Answers answers;
  for (Future& future : futures) {
    const Reply reply = future.Get();
    EXPECT_TRUE(reply.outcome.ok()) << reply.outcome.text;
    std::vector<std::string>& answer = answers.emplace_back();
    for (const OutputTensor& tensor : reply.output->tensors()) {
      answer.push_back(BytesOf(tensor.Rows(reply.first_row, reply.rows)));
    }
  }
  return answers;
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

class ModelRequestsTest : public ::testing::Test {
 protected:
  // Loads the model of that config.
  void Load(const std::string& config) {
    folder_.Write("m/config.pbtxt", config);
    auto loaded = LoadNamedModel(Repository(folder_.path()), "m");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    loaded_ = *std::move(loaded);
  }

  std::unique_ptr<ModelRequests> Make(const RequestPoolOptions& options) {
    auto requests = ModelRequests::Make(*loaded_.model, options);
    EXPECT_TRUE(requests.ok()) << requests.status();
    return *std::move(requests);
  }

  const TempFolder folder_;
  LoadedModel loaded_;
};

TEST_F(ModelRequestsTest, EachIsAnsweredWithItsOwnContents) {
  ASSERT_NO_FATAL_FAILURE(Load(Echo(5)));
  const auto requests = Make(Drawn(20, 3));
  ASSERT_EQ(requests->inputs().size(), 20U);
  const Answers answers =
      AnswersTo(*loaded_.model->scheduler, requests->inputs());
  for (size_t i = 0; i < answers.size(); ++i) {
    const RequestInputs& request = requests->inputs()[i];
    EXPECT_EQ(request.rows, 3);
    EXPECT_EQ(request.bytes, 3U * (5 * 4 + 2 * 8));
    ASSERT_EQ(answers[i].size(), 2U);
    for (size_t tensor = 0; tensor < 2; ++tensor) {
      EXPECT_EQ(answers[i][tensor],
                BytesOf(request.inputs[tensor].segments[0]));
    }
  }
  EXPECT_NE(answers[0], answers[1]) << "requests differ";
}

TEST_F(ModelRequestsTest, ContentsAreThoseOfASeed) {
  ASSERT_NO_FATAL_FAILURE(Load(Echo(5)));
  const auto bytes = [&](uint64_t seed) {
    const auto requests = Make(Drawn(2, 1, seed));
    return BytesOf(requests->inputs()[1].inputs[0].segments[0]);
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
}

TEST_F(ModelRequestsTest, RangesAndShapesAreTaken) {
  ASSERT_NO_FATAL_FAILURE(Load(Echo(-1)));
  const auto missing = ModelRequests::Make(*loaded_.model, {});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("give --shape a:<sizes>"));
  RequestPoolOptions options = Drawn(3);
  options.shapes["a"] = {7};
  options.ranges["b"] = {1, 1};
  const auto requests = Make(options);
  const RequestInputs& first = requests->inputs()[0];
  EXPECT_EQ(first.inputs[0].dims, absl::MakeConstSpan({int64_t{7}}));
  EXPECT_EQ(first.shape_key, ShapeKey(first.inputs));
  const int64_t ones[] = {1, 1};
  EXPECT_EQ(BytesOf(first.inputs[1].segments[0]),
            std::string(reinterpret_cast<const char*>(ones), sizeof(ones)));
  EXPECT_EQ(AnswersTo(*loaded_.model->scheduler, requests->inputs()).size(),
            3U);
}

// A network in company of other rows computes what it does alone.
TEST_F(ModelRequestsTest, NetworkAnswersTheSameInABatch) {
  ASSERT_NO_FATAL_FAILURE(Load(SmallMlp()));
  const auto requests = Make(Drawn(12));
  Scheduler& batcher = *loaded_.model->scheduler;
  const Answers together = AnswersTo(batcher, requests->inputs());
  ASSERT_EQ(together.size(), 12U);
  for (size_t i = 0; i < together.size(); ++i) {
    const std::vector<float> alone =
        Floats(AnswersTo(batcher, {requests->inputs()[i]})[0][0]);
    const std::vector<float> got = Floats(together[i][0]);
    ASSERT_EQ(alone.size(), 4U);
    ASSERT_EQ(got.size(), 4U);
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_TRUE(std::isfinite(alone[j]));
      EXPECT_NEAR(got[j], alone[j], 1e-5);
    }
  }
  EXPECT_NE(together[0], together[1]) << "rows differ";
}

TEST_F(ModelRequestsTest, LoadIsAnsweredAndCounted) {
  ASSERT_NO_FATAL_FAILURE(Load(SmallMlp()));
  const auto requests = Make(Drawn(4));
  ASSERT_TRUE(
      CheckFirstAnswer(*loaded_.model->scheduler, requests->inputs()[0]).ok());
  BatcherTarget target(std::move(loaded_.model->scheduler), requests->inputs(),
                       {});
  const BatcherCounters counters(target.scheduler());
  EXPECT_EQ(counters.instances(), 1);
  const ServerCounters before = counters.Read();
  SteadyPacer pacer;
  LoadGenerator generator(target, pacer);
  LoadPlan plan;
  plan.measured = Milliseconds(100);
  const auto load = generator.RunClosed(8, plan);
  EXPECT_GT(load->ok(), 8U);
  EXPECT_EQ(load->ok(), load->planned);
  const ServerCounters after = counters.Read();
  EXPECT_EQ(after.rows - before.rows, load->ok());
  const ServerWindow window = Difference(before, after, counters.instances());
  uint64_t rows = 0;
  for (const auto& [size, batches] : window.batches) {
    rows += size * batches;
  }
  EXPECT_EQ(rows, load->ok());
  EXPECT_GE(window.mean_rows.value_or(0), 1);
  EXPECT_FALSE(window.closed.empty());
  ASSERT_TRUE(window.times.has_value());
  EXPECT_GT(window.times->compute_infer_us, 0);
}

TEST_F(ModelRequestsTest, FirstAnswerSaysWhatIsWrong) {
  ASSERT_NO_FATAL_FAILURE(Load(absl::StrCat(
      "backend: \"ferry_sim\"\nmax_batch_size: 4\n",
      Tensor("input", "x", "FP32", 2), Tensor("output", "y", "FP32", 2),
      "dynamic_batching {}\n", Parameter("alpha_ms", "0"),
      Parameter("beta_ms", "0"), Parameter("fail_every", "1"))));
  const auto requests = Make(Drawn(1));
  const absl::Status status =
      CheckFirstAnswer(*loaded_.model->scheduler, requests->inputs()[0]);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("first request: "));
}

TEST(LoadedModelTest, ModelThatIsNotThereIsSaidWithThoseThatAre) {
  const TempFolder folder;
  folder.Write("one/config.pbtxt", Echo(1));
  folder.Write("two/config.pbtxt", Echo(1));
  const auto unknown = LoadNamedModel(Repository(folder.path()), "three");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.status().message()),
              HasSubstr("model 'three': expected a folder"));
  EXPECT_THAT(std::string(unknown.status().message()),
              EndsWith("No such file or directory; there are: one, two"));
  const auto embedded = LoadNamedModel({}, "vgg");
  EXPECT_EQ(embedded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(embedded.status().message()),
              HasSubstr("mlp, resnet50"));
}

TEST(LoadedModelTest, FolderThatIsNotThereIsSaid) {
  const TempFolder folder;
  const auto none = LoadNamedModel(Repository(folder.path("no")), "m");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("cannot read the folder"));
}

TEST(LoadedModelTest, NewestVersionIsLoaded) {
  const TempFolder folder;
  folder.Write("m/config.pbtxt", Echo(1));
  folder.Write("m/1/.keep", "");
  folder.Write("m/3/.keep", "");
  const auto loaded = LoadNamedModel(Repository(folder.path()), "m");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->model->version, 3);
}

}  // namespace
}  // namespace ferry::bench
