// Tests what configs of Triton may say without effect, what loads back, and the
// places that diagnostics name.
#include "models/config/config_diagnostics.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "models/config/model_config.h"
#include "models/config/model_overrides.h"
#include "models/config/near_key.h"
#include "models/repository/embedded_models.h"
#include "tests/models/parsed_config.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string WithTensors(const std::string& text) {
  return absl::StrCat("backend: \"pytorch\" max_batch_size: 8\n", text,
                      kTensors);
}

// What Triton prints of each model that it serves, and configs of its docs.
TEST(ConfigDiagnosticsTest, WhatTritonFillsInIsTaken) {
  const auto config = ParseModelConfig(R"(name: "m"
platform: "pytorch_libtorch"
backend: "pytorch"
runtime: "libtriton_pytorch.so"
max_batch_size: 8
version_policy { latest { num_versions: 1 } }
input { name: "x" data_type: TYPE_FP32 dims: 4 is_shape_tensor: false }
output { name: "y" data_type: TYPE_FP32 dims: 4 is_shape_tensor: false }
optimization {
  graph { level: 1 }
  priority: PRIORITY_DEFAULT
  execution_accelerators {}
  input_pinned_memory { enable: true }
  output_pinned_memory { enable: true }
  gather_kernel_buffer_threshold: 5
  eager_batching: true
}
model_operations {}
model_repository_agents {}
model_metrics {}
instance_group {
  name: "m_0" count: 1 kind: KIND_CPU passive: false rate_limiter {}
}
)",
                                       "m/config.pbtxt", "m");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->options.notes, IsEmpty()) << "it is so anyway";
  EXPECT_TRUE(config->options.use_graphs);
}

TEST(ConfigDiagnosticsTest, ChoiceSaysSomethingAlsoWhenItIsEmpty) {
  EXPECT_THAT(MessageOf(WithTensors("sequence_batching {}")),
              HasSubstr("field 'sequence_batching' is not supported"));
  EXPECT_THAT(MessageOf(WithTensors("ensemble_scheduling {}")),
              HasSubstr("field 'ensemble_scheduling' is not supported"));
}

TEST(ConfigDiagnosticsTest, WhatHasNoEffectIsKeptAndNoted) {
  const auto config = Parse(WithTensors(R"(
      metric_tags { key: "team" value: "vision" }
      model_metrics { metric_control { metric_identifier { family: "f" } } }
      parameters { key: "metadata" value { string_value: "{}" } }
      parameters { key: "owner" value { } }
      optimization { cuda { graphs: true busy_wait_events: true
                            output_copy_stream: true
                            graph_spec { batch_size: 4 } } }
      instance_group { host_policy: "gpu_0" profile: "1"
                       rate_limiter { priority: 2 } })"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(
      config->options.notes,
      UnorderedElementsAre("field 'metric_tags'", "field 'model_metrics'",
                           "field 'optimization.cuda.busy_wait_events'",
                           "field 'optimization.cuda.graph_spec'",
                           "field 'optimization.cuda.output_copy_stream'",
                           "field 'instance_group.host_policy'",
                           "field 'instance_group.profile'",
                           "field 'instance_group.rate_limiter'",
                           "parameter 'metadata'", "parameter 'owner'"));
  EXPECT_EQ(config->message.parameters().at("metadata").string_value(), "{}");
  EXPECT_EQ(config->message.metric_tags().at("team"), "vision");
}

TEST(ConfigDiagnosticsTest, SwitchOfTritonIsNotedWhereItAsksForWhatIsNotSo) {
  const auto config = Parse(WithTensors(R"(
      parameters { key: "INFERENCE_MODE" value { string_value: "false" } }
      parameters { key: "ENABLE_JIT_PROFILING" value { string_value: "true" } }
      parameters { key: "DISABLE_OPTIMIZED_EXECUTION"
                   value { string_value: "true" } }
      parameters { key: "ENABLE_CACHE_CLEANING" value { string_value: "0" } }
      parameters { key: "ENABLE_NVFUSER" value { string_value: "true" } })"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->options.notes,
              UnorderedElementsAre("parameter 'INFERENCE_MODE'",
                                   "parameter 'DISABLE_OPTIMIZED_EXECUTION'"));
}

TEST(ConfigDiagnosticsTest, ConfigThatEndsTooEarlySaysSo) {
  EXPECT_THAT(MessageOf(absl::StrCat(WithTensors(""), "dynamic_batching {")),
              HasSubstr("got: the end of the file"));
}

TEST(ConfigDiagnosticsTest, GpusAreTheProcesssAndGraphsAreOurs) {
  const auto config = Parse(WithTensors(
      "instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] } ]\n"
      "optimization { cuda { graphs: true } }"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->options.instance_count, 2);
  EXPECT_TRUE(config->options.use_graphs);
  EXPECT_TRUE(config->options.names_gpu);
  EXPECT_TRUE(config->options.names_gpus);
  EXPECT_FALSE(config->options.names_cpu);

  const auto without =
      Parse(WithTensors("optimization { cuda { graphs: false } }"));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(without->options.use_graphs);

  const auto own =
      Parse(WithTensors("parameters { key: \"ferry.cuda_graphs\" value { "
                        "string_value: \"true\" } "
                        "} optimization { cuda { graphs: false } }"));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_TRUE(own->options.use_graphs) << "the parameter is the nearer word";
}

// A client sends back what the RPC ModelConfig has answered, with all defaults.
TEST(ConfigDiagnosticsTest, WhatIsInForceLoadsBack) {
  const std::string texts[] = {
      WithTensors(""),
      WithTensors("dynamic_batching { preferred_batch_size: [ 4 ] } "
                  "instance_group { kind: KIND_GPU gpus: 0 } "
                  "optimization { cuda { graphs: true } } "
                  "parameters { key: \"mine\" value { string_value: \"1\" } }"),
      std::string("backend: \"ferry_echo\"") + kTensors,
      std::string("platform: \"torch_aoti\" max_batch_size: 4") + kTensors,
      FindEmbeddedConfig("mlp"),
      FindEmbeddedConfig("encoder"),
  };
  for (const std::string& text : texts) {
    auto config = Parse(text);
    ASSERT_TRUE(config.ok()) << text << config.status();
    ASSERT_TRUE(ApplyOverrides({}, ConfigOrigin::kFolder, *config).ok());
    google::protobuf::util::JsonPrintOptions print;
    for (const bool has_defaults : {false, true}) {
      print.always_print_primitive_fields = has_defaults;
      print.preserve_proto_field_names = has_defaults;
      std::string json;
      ASSERT_TRUE(google::protobuf::util::MessageToJsonString(config->message,
                                                              &json, print)
                      .ok());
      const auto again = ParseModelConfigJson(json, "m");
      ASSERT_TRUE(again.ok()) << json << again.status();
      EXPECT_EQ(again->message.SerializeAsString().size(),
                config->message.SerializeAsString().size());
    }
  }
}

TEST(ConfigDiagnosticsTest, ElementsAndPlacesAreNamed) {
  const std::string text =
      "backend: \"pytorch\"\nmax_batch_size: 4\n"
      "input [ { name: \"a\" data_type: TYPE_FP32 dims: [ 4 ] },\n"
      "  { name: \"b\" data_type: TYPE_FP32\n    dims: [ 4, -3 ] } ]\n"
      "output { name: \"y\" data_type: TYPE_FP32 dims: 1 dims: 0 }\n"
      "dynamic_batching {\n  preferred_batch_size: [ 4, 8 ]\n}\n";
  const std::string message = MessageOf(text);
  EXPECT_THAT(message, HasSubstr("m/config.pbtxt:5: input[1].dims[1]: field "
                                 "'input.dims' of 'b'"));
  EXPECT_THAT(message, HasSubstr("m/config.pbtxt:6: output[0].dims[1]: "));
  EXPECT_THAT(message,
              HasSubstr("m/config.pbtxt:8: "
                        "dynamic_batching.preferred_batch_size[1]: field"));
  EXPECT_THAT(MessageOf("backend: \"pytorch\"\nmax_batch_size: [\n"),
              HasSubstr("m/config.pbtxt:2:17: "));

  const std::string json =
      "{\"backend\": \"pytorch\", \"max_batch_size\": 4, \"input\": "
      "[{\"name\": "
      "\"x\", \"data_type\": \"TYPE_FP32\", \"dims\": [4, -3]}]}";
  const auto of_json = ParseModelConfigJson(json, "m");
  EXPECT_THAT(of_json.status().ToString(),
              HasSubstr("config of the load request of 'm': input[0].dims[1]: "
                        "field"));
  const auto broken = ParseModelConfigJson("{\n \"name\" \"m\"}", "m");
  EXPECT_THAT(broken.status().ToString(), HasSubstr("at line 2, column 1"));
  const auto unknown =
      ParseModelConfigJson("{\"input\": [{\"dimz\": 1}]}", "m");
  EXPECT_THAT(unknown.status().ToString(), HasSubstr("input[0]"));
}

TEST(ConfigDiagnosticsTest, UnknownFieldsAreToldWithTheNearOne) {
  EXPECT_THAT(MessageOf("dynamic_batching { max_queue_delay: 100 }\n"),
              HasSubstr("m/config.pbtxt:1: expected a field of "
                        "ModelDynamicBatching, got 'max_queue_delay'; did you "
                        "mean max_queue_delay_microseconds?"));
  const std::string far = MessageOf("zzz: 1\n");
  EXPECT_THAT(far, HasSubstr("expected a field of ModelConfig, got 'zzz'"));
  EXPECT_THAT(far, Not(HasSubstr("did you mean")));
  for (const auto& [json, near] :
       {std::pair("{\"max_batch\": 1}",
                  "expected a field of ModelConfig, got 'max_batch'; did you "
                  "mean max_batch_size?"),
        std::pair("{\"max batch\": 1}",
                  "as JSON: expected a field of ModelConfig, got 'max batch'"),
        std::pair("{\"(a) b\": 1}", "as JSON: (a) b: Cannot find field."),
        std::pair("{\"input\": [{\"dimz\": 1}]}",
                  "(input[0]) expected a field of ModelInput, got 'dimz'; did "
                  "you mean dims?")}) {
    EXPECT_THAT(ParseModelConfigJson(json, "m").status().ToString(),
                HasSubstr(near));
  }
}

TEST(ConfigDiagnosticsTest, FieldsInAWrongPlaceAreToldWithTheirOwn) {
  EXPECT_THAT(MessageOf("max_queue_delay_microseconds: 100\n"),
              HasSubstr("expected a field of ModelConfig, got "
                        "'max_queue_delay_microseconds'; it belongs in "
                        "'dynamic_batching'"));
  EXPECT_THAT(MessageOf("dynamic_batching { max_batch_size: 4 }\n"),
              HasSubstr("expected a field of ModelDynamicBatching, got "
                        "'max_batch_size'; it belongs at the top of the "
                        "config"));
  for (const auto& [json, place] :
       {std::pair("{\"max_queue_delay_microseconds\": 1}",
                  "got 'max_queue_delay_microseconds'; it belongs in "
                  "'dynamic_batching'"),
        std::pair("{\"dims\": [1]}", "got 'dims'; it belongs in 'input'")}) {
    const std::string told =
        ParseModelConfigJson(json, "m").status().ToString();
    EXPECT_THAT(told, HasSubstr(place));
    EXPECT_THAT(told, Not(HasSubstr("did you mean")));
  }
  for (const auto& [json, place] :
       {std::pair("{\"optimization\": {\"graphs\": true}}",
                  "(optimization) expected a field of "
                  "ModelOptimizationPolicy, got 'graphs'; it belongs in "
                  "'optimization.cuda'; did you mean graph?"),
        std::pair("{\"output\": [{\"shape\": [1]}]}",
                  "got 'shape'; it belongs in 'output.reshape'"),
        std::pair("{\"inputs\": [{}]}",
                  "got 'inputs'; it belongs in 'model_warmup'; did you mean "
                  "input?")}) {
    EXPECT_THAT(ParseModelConfigJson(json, "m").status().ToString(),
                HasSubstr(place));
  }
}

TEST(ConfigDiagnosticsTest, LongNamesOfUnknownFieldsAreCut) {
  const std::string name(100'000, 'a');
  std::string text;
  for (int i = 0; i < 9; ++i) {
    text += name + ": 1\n";
  }
  EXPECT_THAT(MessageOf(text), HasSubstr("got 'aaa"));
  EXPECT_THAT(MessageOf(text), HasSubstr("aaa...'\n"));
  EXPECT_THAT(
      ParseModelConfigJson("{\"" + name + "\": 1}", "m").status().ToString(),
      HasSubstr("aaa..."));
}

TEST(ConfigDiagnosticsTest, GroupOfTooManyInstancesIsToldOnce) {
  const std::string message = MessageOf("instance_group { count: 100 }\n");
  EXPECT_THAT(message, HasSubstr("field 'instance_group.count': expected"));
  EXPECT_THAT(message, Not(HasSubstr("field 'instance_group': ")));
}

TEST(ConfigDiagnosticsTest, KeysAreNearByLettersOrTheirBegin) {
  for (const char* near : {"ferry.threads", "ferry.thread", "ferry_threads",
                           "FERRY.THREADS", "ferry.treads", "ferry.thr"}) {
    EXPECT_TRUE(IsNear(near, "ferry.threads")) << near;
  }
  for (const char* other :
       {"", "threads", "ferry.", "my.threads_per_row", "weather.threads",
        "FERRY", "ferry.threads_of_my_own"}) {
    EXPECT_FALSE(IsNear(other, "ferry.threads")) << other;
  }
}

}  // namespace
}  // namespace ferry
