// Tests what ParseModelConfig reads, and what it refuses with which words.
#include "models/config/model_config.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/repository/embedded_models.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelConfigTest, ReadsEveryHonoredField) {
  const auto config = Parse(R"(
name: "m"
platform: "pytorch_libtorch"
max_batch_size: 16
default_model_filename: "net.pt"
version_policy { specific { versions: [ 3, 1 ] } }
input [
  { name: "a" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "b" data_type: TYPE_BOOL dims: [ 2, 3 ] }
]
output { name: "c" data_type: TYPE_BF16 dims: [ 7 ] }
dynamic_batching {
  max_queue_delay_microseconds: 1500
  preferred_batch_size: [ 8, 4 ]
  preserve_ordering: true
}
instance_group { count: 2 kind: KIND_CPU }
parameters { key: "ferry.policy" value { string_value: "window" } }
parameters { key: "ferry.precision" value { string_value: "fp32" } }
parameters { key: "ferry.precision_tolerance" value { string_value: "0.2" } }
parameters { key: "ferry.precision.serving" value { string_value: "bf16" } }
parameters { key: "ferry.precision.max_error" value { string_value: "0.01" } }
parameters { key: "ferry.threads" value { string_value: "3" } }
parameters { key: "ferry.channels_last" value { string_value: "false" } }
parameters { key: "ferry.buckets" value { string_value: "1,4,16" } }
)");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelOptions& options = config->options;
  EXPECT_EQ(options.name, "m");
  EXPECT_EQ(options.backend, BackendKind::kTorchScript);
  EXPECT_EQ(options.spec.max_batch_size, 16);
  EXPECT_EQ(options.file, "net.pt");
  EXPECT_EQ(options.versions.kind, VersionChoice::Kind::kSpecific);
  EXPECT_THAT(options.versions.versions, ElementsAre(3, 1));
  ASSERT_EQ(options.spec.inputs.size(), 2u);
  EXPECT_EQ(options.spec.inputs[1].type, DataType::kBool);
  EXPECT_THAT(options.spec.inputs[1].dims, ElementsAre(2, 3));
  EXPECT_EQ(options.spec.outputs[0].type, DataType::kBf16);
  EXPECT_EQ(options.batching, Batching::kAcrossRequests);
  EXPECT_EQ(options.max_wait, std::chrono::microseconds(1500));
  EXPECT_EQ(options.enough_rows, 4) << "the smallest preferred size";
  EXPECT_TRUE(options.preserve_ordering);
  EXPECT_EQ(options.policy, PolicyKind::kWindow);
  EXPECT_EQ(options.precision, Precision::kFp32) << "what serves is no choice";
  EXPECT_EQ(options.precision_tolerance, 0.2);
  EXPECT_EQ(options.instance_count, 2);
  EXPECT_FALSE(options.use_channels_last);
  EXPECT_TRUE(options.use_graphs) << "which is another switch";
  EXPECT_EQ(options.threads, 3);
  EXPECT_THAT(options.buckets, ElementsAre(1, 4, 16));
}

TEST(ModelConfigTest, PackageIsKnownByItsPlatformOrItsFile) {
  for (const char* text :
       {"platform: \"torch_aoti\"",
        "backend: \"pytorch\" platform: \"torch_aoti\"",
        "backend: \"pytorch\" default_model_filename: \"net.pt2\""}) {
    const auto config = Parse(std::string(text) + kTensors);
    ASSERT_TRUE(config.ok()) << text << config.status();
    EXPECT_EQ(config->options.backend, BackendKind::kAotInductor) << text;
  }
  for (const char* text :
       {"platform: \"torch_aoti\" default_model_filename: \"net.pt\"",
        "platform: \"pytorch_libtorch\" default_model_filename: \"n.pt2\""}) {
    EXPECT_THAT(MessageOf(std::string(text) + kTensors),
                HasSubstr("expected a .pt2 file with platform 'torch_aoti'"))
        << text;
  }
  EXPECT_THAT(
      MessageOf(std::string("platform: \"torch_aoti\" parameters { key: "
                            "\"ferry.precision\" value { string_value: "
                            "\"fp32\" } }") +
                kTensors),
      HasSubstr("a .pt2 file has the types it was compiled with: remove it"));
}

TEST(ModelConfigTest, WithoutDynamicBatchingRequestsKeepApart) {
  const auto config =
      Parse(std::string("backend: \"pytorch\" max_batch_size: 8") + kTensors);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->options.batching, Batching::kOwnRowsOnly);
}

TEST(ModelConfigTest, LevelsHaveTheDefaultPolicyOrTheirOwn) {
  const absl::StatusOr<ModelConfig> config = Parse(std::string(kTensors) + R"(
      backend: "pytorch"
      max_batch_size: 4
      dynamic_batching {
        priority_levels: 3
        default_priority_level: 2
        default_queue_policy {
          default_timeout_microseconds: 1500
          max_queue_size: 7
        }
        priority_queue_policy {
          key: 1
          value { allow_timeout_override: true timeout_action: DELAY }
        }
      })");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelOptions& options = config->options;
  ASSERT_EQ(options.levels.size(), 3u);
  EXPECT_EQ(options.default_level, 1);
  EXPECT_EQ(options.levels[0].default_timeout, Duration(0));
  EXPECT_TRUE(options.levels[0].may_shorten);
  EXPECT_EQ(options.levels[0].max_requests, 0);
  EXPECT_TRUE(options.levels[0].delays_late);
  for (size_t level : {1u, 2u}) {
    EXPECT_EQ(options.levels[level].default_timeout, Milliseconds(1.5));
    EXPECT_FALSE(options.levels[level].may_shorten);
    EXPECT_EQ(options.levels[level].max_requests, 7);
    EXPECT_FALSE(options.levels[level].delays_late) << "REJECT";
  }
}

TEST(ModelConfigTest, SimulationIsReadFromItsParameters) {
  const auto config = Parse(R"(
backend: "ferry_sim"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 4 }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
parameters { key: "ferry.alpha_ms" value { string_value: "2.5" } }
parameters { key: "ferry.beta_ms" value { string_value: "0.25" } }
parameters { key: "ferry.jitter" value { string_value: "0.1" } }
parameters { key: "ferry.fail_every" value { string_value: "7" } }
parameters { key: "ferry.throw_every" value { string_value: "8" } }
parameters { key: "ferry.hang_every" value { string_value: "9" } }
parameters { key: "ferry.abort_every" value { string_value: "10" } }
parameters { key: "ferry.buckets" value { string_value: "2,8" } }
)");
  ASSERT_TRUE(config.ok()) << config.status();
  const SimulatedModelOptions& simulation = config->options.simulation;
  EXPECT_EQ(simulation.alpha, Milliseconds(2.5));
  EXPECT_EQ(simulation.beta, Milliseconds(0.25));
  EXPECT_EQ(simulation.jitter, 0.1);
  EXPECT_EQ(simulation.fail_every, 7);
  EXPECT_EQ(simulation.throw_every, 8);
  EXPECT_EQ(simulation.hang_every, 9);
  EXPECT_EQ(simulation.abort_every, 10);
  EXPECT_THAT(config->options.buckets, ElementsAre(2, 8));
}

TEST(ModelConfigTest, EverythingWrongIsToldAtOnceWithItsLine) {
  const std::string message = MessageOf(R"(backend: "pytorch"
max_batch_size: 8
no_such_field: 3
input { name: "x" data_type: TYPE_FP32 dims: 4 reshape { shape: 5 } }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
sequence_batching { max_sequence_idle_microseconds: 5 }
parameters { key: "ferry.polcy" value { string_value: "eager" } }
)");
  EXPECT_THAT(message, HasSubstr("m/config.pbtxt:3: "));
  EXPECT_THAT(message, HasSubstr("no_such_field"));
  EXPECT_THAT(message, HasSubstr("m/config.pbtxt:4: field 'input.reshape' of "
                                 "'x': expected as many elements"));
  EXPECT_THAT(message,
              HasSubstr("m/config.pbtxt:6: field 'sequence_batching'"));
  EXPECT_THAT(message, HasSubstr("m/config.pbtxt:7: parameter 'ferry.polcy'"));
}

TEST(ModelConfigTest, NestingWithoutEndIsRefused) {
  std::string text;
  std::string json;
  for (int i = 0; i < 200'000; ++i) {
    text += "a{";
    json += "{\"a\":";
  }
  EXPECT_THAT(MessageOf(text), HasSubstr("too deep"));
  EXPECT_FALSE(ParseModelConfigJson(json, "m").ok());
}

TEST(ModelConfigTest, StringsThatAreNoUtf8AreRefused) {
  for (const char* text : {"\xff", "\xc3", "\xc3(", "\xe0\x9f\xbf",
                           "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    EXPECT_THAT(
        MessageOf(absl::StrCat("backend: \"pytorch\"\nmax_batch_size: 1\n",
                               "instance_group { name: \"", text, "\" }",
                               kTensors)),
        HasSubstr("m/config.pbtxt:3: field 'name': expected a text in UTF-8"));
    EXPECT_THAT(
        MessageOf(absl::StrCat("backend: \"pytorch\"\nparameters {\n key: \"",
                               text, "\" }", kTensors)),
        HasSubstr("m/config.pbtxt:3: field 'key': expected a text in UTF-8"));
  }
  const auto config = Parse(absl::StrCat(
      "backend: \"pytorch\" instance_group { name: \"",
      "\xc3\xa4 \xe2\x82\xac \xed\x9f\xbf \xf4\x8f\xbf\xbf", "\" }", kTensors));
  EXPECT_TRUE(config.ok()) << config.status();
}

TEST(ModelConfigTest, WhatChangesNothingHereIsTaken) {
  const auto config = ParseModelConfig(R"(backend: "pytorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: [ 3, 8, 8 ] format: FORMAT_NCHW }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
model_transaction_policy { decoupled: false }
response_cache { enable: false }
optimization {}
parameters { key: "INFERENCE_MODE" value { string_value: "true" } }
parameters { key: "INTRA_OP_THREAD_COUNT" value { string_value: "3" } }
parameters { key: "ENABLE_WEIGHT_SHARING" value { string_value: "ON" } }
parameters { key: "DISABLE_CUDNN" value { string_value: "1" } }
parameters { key: "ENABLE_TENSOR_FUSER" value { string_value: "False" } }
parameters { key: "ENABLE_CACHE_CLEANING" value { string_value: "false" } }
model_warmup { name: "w" batch_size: 1 count: 3
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 8, 8 ]
                            random_data: true } } }
)",
                                       "m/config.pbtxt", "m");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->message.model_warmup_size(), 1) << "told as it was read";
  EXPECT_TRUE(config->options.input_reshapes.empty());
  EXPECT_EQ(config->options.threads, 3);
}

TEST(ModelConfigTest, ReshapeIsTheModelsShape) {
  const auto config = ParseModelConfig(R"(backend: "pytorch"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 1 reshape { shape: [] } }
input { name: "z" data_type: TYPE_FP32 dims: [ -1, 4 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 2, -1 ]
         reshape { shape: [ -1, 1, 2 ] } }
)",
                                       "m/config.pbtxt", "m");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelOptions& options = config->options;
  ASSERT_EQ(options.input_reshapes.size(), 2u);
  EXPECT_TRUE(options.input_reshapes[0]->empty());
  EXPECT_FALSE(options.input_reshapes[1].has_value());
  EXPECT_THAT(*options.output_reshapes[0], ElementsAre(-1, 1, 2));
}

struct Refusal {
  std::string text;
  std::string message;
};

std::string WithTensors(const std::string& text) {
  return "backend: \"pytorch\" max_batch_size: 8\n" + text + kTensors;
}

std::string WithParameter(const std::string& key, const std::string& value) {
  return WithTensors("parameters { key: \"" + key +
                     "\" value { string_value: \"" + value + "\" } }");
}

TEST(ModelConfigTest, RefusesWhatItCannotHonor) {
  const Refusal refusals[] = {
      {"platform: \"caffe2\"", "field 'platform': expected 'pytorch'"},
      {"max_batch_size: [", "m/config.pbtxt:1:"},
      {"backend: \"onnxruntime\"",
       "field 'backend': ONNX is not served: export the PyTorch model"},
      {"platform: \"onnxruntime_onnx\"", "; got 'onnxruntime_onnx'"},
      {"platform: \"tensorrt_plan\"",
       "field 'platform': TensorRT engines are not served: export"},
      {"platform: \"ensemble\"",
       "field 'platform': ensembles are not served: serve each step"},
      {"backend: \"python\"",
       "field 'backend': the Python backend is not served: move the code"},
      {"backend: \"tensorrtllm\"", "generative decoding is not served: use"},
      {WithTensors("default_model_filename: \"model.onnx\""),
       "field 'default_model_filename': ONNX is not served"},
      {"backend: \"ferry_echo\"",
       "field 'input': expected 1 to 64 tensors, got 0"},
      {WithTensors("name: \"other\""), "expected the folder's name, 'm'"},
      {WithTensors("platform: \"ferry_sim\""), "field 'platform'"},
      {WithTensors("default_model_filename: \"../x.pt\""),
       "field 'default_model_filename'"},
      {std::string("backend: \"pytorch\" max_batch_size: -1") + kTensors,
       "field 'max_batch_size': expected 0 to 65536, got -1"},
      {std::string("backend: \"pytorch\" dynamic_batching {}") + kTensors,
       "expected max_batch_size >= 1, got 0"},
      {WithTensors("input { name: \"x\" data_type: TYPE_FP32 dims: 1 }"),
       "'x' stands twice"},
      {WithTensors("input { name: \"u\" data_type: TYPE_UINT16 dims: 1 }"),
       "got TYPE_UINT16"},
      {WithTensors("input { name: \"z\" data_type: TYPE_FP32 dims: 0 }"),
       "expected -1 or 1 to"},
      {std::string("backend: \"ferry_echo\" input { name: \"o\" data_type: "
                   "TYPE_FP32 dims: 1 optional: true }") +
           kTensors,
       "field 'input.optional' of 'o': expected a TorchScript model"},
      {std::string("backend: \"ferry_network\" input { name: \"s\" data_type: "
                   "TYPE_STRING dims: 1 }") +
           kTensors,
       "got TYPE_STRING"},
      {WithTensors("ensemble_scheduling { step { model_name: \"a\" } }"),
       "field 'ensemble_scheduling' is not supported: serve each step"},
      {WithTensors("dynamic_batching { preferred_batch_size: [ 4, 0 ] }"),
       "field 'preferred_batch_size': expected 1 to max_batch_size, "},
      {WithTensors("dynamic_batching { preserve_ordering: true "
                   "priority_levels: 2 default_priority_level: 1 }"),
       "field 'preserve_ordering': expected at most one of priority_levels"},
      {WithTensors("dynamic_batching { preserve_ordering: true "
                   "default_queue_policy { timeout_action: DELAY } }"),
       "field 'preserve_ordering': expected timeout_action REJECT with it"},
      {WithTensors("dynamic_batching { priority_levels: 17 }"),
       "field 'priority_levels': expected 0 to 16, got 17"},
      {WithTensors("dynamic_batching { priority_levels: 2 }"),
       "'default_priority_level': expected 1 to priority_levels, 2, got 0"},
      {WithTensors("dynamic_batching { priority_levels: 2 "
                   "default_priority_level: 3 }"),
       "'default_priority_level': expected 1 to priority_levels, 2, got 3"},
      {WithTensors("dynamic_batching { priority_queue_policy { key: 1 value { "
                   "max_queue_size: 1 } } }"),
       "'priority_queue_policy': expected keys from 1 to priority_levels, 0"},
      {WithTensors("dynamic_batching { max_queue_delay_microseconds: "
                   "60000001 }"),
       "expected at most 60000000"},
      {WithTensors("instance_group { kind: KIND_MODEL }"), "got KIND_MODEL"},
      {WithTensors("instance_group { kind: KIND_CPU gpus: 0 }"),
       "expected numbers of GPUs, from 0, and none with KIND_CPU, got 0"},
      {WithTensors("instance_group { kind: KIND_GPU gpus: [ 0, -1 ] }"),
       "instance_group[0].gpus[1]: field 'instance_group.gpus'"},
      {WithTensors("instance_group { secondary_devices { device_id: 1 } }"),
       "'instance_group.secondary_devices' is not supported: remove it"},
      {WithTensors("instance_group { passive: true }"),
       "'instance_group.passive' is not supported: remove it"},
      {WithTensors("instance_group { count: 65 }"), "got 65"},
      {WithTensors("optimization { execution_accelerators { "
                   "gpu_execution_accelerator { name: \"tensorrt\" } } }"),
       "'optimization.execution_accelerators' is not supported: remove it; "
       "LibTorch computes"},
      {WithTensors("optimization { priority: PRIORITY_MAX }"),
       "'optimization.priority' is not supported: remove it; parameter "
       "'ferry.weight'"},
      {WithTensors("optimization { graph { level: -1 } }"),
       "field 'optimization.graph.level': expected at least 0"},
      {WithTensors("runtime: \"model.py\""),
       "field 'runtime': expected 'libtriton_pytorch.so'"},
      {WithTensors("version_policy { specific { versions: [ 1, -2 ] } }"),
       "version_policy.specific.versions[1]: "},
      {WithTensors("input { name: \"r\" data_type: TYPE_FP32 dims: [ -1, 4 ] "
                   "reshape { shape: [ 2, 2 ] } }"),
       "as many -1 as in 'dims', [-1,4], got [2,2]"},
      {std::string("backend: \"ferry_echo\" max_batch_size: 8 input { name: "
                   "\"r\" data_type: TYPE_FP32 dims: 1 reshape { shape: [] } "
                   "}") +
           kTensors,
       "'input.reshape' of 'r': expected backend 'pytorch' with it"},
      {WithTensors("response_cache { enable: true }"),
       "field 'response_cache' is not supported: remove it; every"},
      {WithTensors("sequence_batching {}"),
       "field 'sequence_batching' is not supported: remove it; requests are "
       "independent of each other here, so send the state along"},
      {WithTensors("model_transaction_policy { decoupled: true }"),
       "field 'model_transaction_policy' is not supported: remove it; a "
       "request has one response: return all of it at once"},
      {WithTensors("batch_input { kind: BATCH_ELEMENT_COUNT }"),
       "field 'batch_input' is not supported: remove it; send what"},
      {WithParameter("ferry.policy", "fast"),
       "expected 'eager', 'window' or 'adaptive'"},
      {WithParameter("ferry.precision", "int8"),
       "expected 'bf16', 'fp32' or 'native'"},
      {WithParameter("ferry.precision_tolerance", "5%"), "as in 0.05"},
      {WithParameter("ferry.precision_tolerance", "0"), "as in 0.05"},
      {WithParameter("ferry.threads", "-1"), "an integer from "},
      {WithParameter("ferry.threads", "two"), "got 'two'"},
      {WithParameter("ferry.slots", "2"),
       "parameter 'ferry.slots' is not supported: remove it; an instance pulls "
       "its batches without it"},
      {WithParameter("ferry.poll_us", "0"),
       "parameter 'ferry.poll_us' is not supported: remove it; an instance "
       "pulls its batches without it"},
      {WithParameter("ferry.inline_us", "300"),
       "parameter 'ferry.inline_us' is not supported: remove it; an instance "
       "pulls its batches without it"},
      {WithParameter("ferry.channels_last", "no"), "'true' or 'false'"},
      {WithParameter("ferry.cuda_graphs", "no"), "'true' or 'false'"},
      {WithParameter("ferry.buckets", "4,2,8"), "ascending"},
      {WithParameter("ferry.buckets", "1,4"), "ends with max_batch_size, 8"},
      {WithParameter("ferry.alpha_ms", "1"), "is not of this backend"},
      {std::string("backend: \"ferry_network\" max_batch_size: 8 parameters { "
                   "key: \"ferry.weights\" value { string_value: "
                   "\"../../etc/passwd\" } }") +
           kTensors,
       "expected the name of a file in the version folder"},
      {WithParameter("INTER_OP_THREAD_COUNT", "2"), "write 'ferry.threads'"},
      {WithParameter("INTRA_OP_THREAD_COUNT", "-1"), "an integer from 0 to"},
      {WithParameter("ENABLE_WEIGHT_SHARING", "no such"),
       "expected 'true' or 'false'"},
      {WithParameter("ferry.whatever", "2"), "known are ferry.policy"},
      {WithParameter("ferry.polcy", "eager"), "did you mean 'ferry.policy'?"},
      {WithParameter("Ferry_Precision", "fp32"),
       "did you mean 'ferry.precision'?"},
      {WithParameter("ferry.thread", "2"), "did you mean 'ferry.threads'?"},
      {WithParameter("fery.pad.x", "2"), "did you mean 'ferry.pad.<input>'?"},
      {WithParameter("INTRA_OP_THREADS_COUNT", "2"),
       "did you mean 'INTRA_OP_THREAD_COUNT'?"},
      {WithParameter("enable_weight_sharing", "false"),
       "did you mean 'ENABLE_WEIGHT_SHARING'?"},
  };
  for (const Refusal& refusal : refusals) {
    const auto config = Parse(refusal.text);
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument)
        << refusal.text;
    EXPECT_THAT(std::string(config.status().message()),
                HasSubstr(refusal.message))
        << refusal.text;
  }
}

TEST(ModelConfigTest, ParameterThatStandsTwiceIsRefused) {
  const std::string parameter =
      "parameters { key: \"ferry.threads\" value { string_value: \"1\" } }\n";
  EXPECT_THAT(MessageOf(WithTensors(parameter + parameter)),
              HasSubstr("'ferry.threads' stands twice"));
}

TEST(ModelConfigTest, NetworkNeedsItsName) {
  EXPECT_THAT(MessageOf(std::string("backend: \"ferry_network\" "
                                    "max_batch_size: 8") +
                        kTensors),
              HasSubstr("parameter 'ferry.network'"));
}

TEST(ModelConfigTest, EmbeddedConfigsAreGood) {
  for (const char* name : {"mlp", "resnet50", "encoder"}) {
    const char* const text = FindEmbeddedConfig(name);
    ASSERT_NE(text, nullptr) << name;
    const auto config = ParseModelConfig(text, name, name);
    EXPECT_TRUE(config.ok()) << config.status();
  }
  EXPECT_EQ(FindEmbeddedConfig("other"), nullptr);
}

}  // namespace
}  // namespace ferry
