// Tests the answer to everything a client can get wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>

#include "server/codec/infer_codec.h"
#include "tests/server/codec/codec_requests.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

struct WrongCase {
  const char* what;
  std::function<void(ModelInferRequest&)> spoil;
  const char* message;  // part of the answer
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

void SetShape(ModelInferRequest& request, int input,
              const std::vector<int64_t>& shape) {
  auto* dims = request.mutable_inputs(input)->mutable_shape();
  dims->Clear();
  dims->Add(shape.begin(), shape.end());
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::vector<WrongCase> WrongInputs() {
  return {
      {"missing input",
       [](auto& r) {
         r.mutable_inputs()->RemoveLast();
         r.mutable_raw_input_contents()->RemoveLast();
       },
       "expected 2 inputs but got 1 inputs for model 'm', missing input(s) "
       "['b']"},
      {"no input", [](auto& r) { r.clear_inputs(); },
       "missing input(s) ['a', 'b']"},
      {"input given twice", [](auto& r) { r.mutable_inputs(1)->set_name("a"); },
       "input 'a' is given twice"},
      {"unknown input", [](auto& r) { r.mutable_inputs(1)->set_name("c"); },
       "unexpected inference input 'c' for model 'm'"},
      {"input without a name",
       [](auto& r) { r.mutable_inputs(0)->clear_name(); },
       "unexpected inference input ''"},
      {"one input too many",
       [](auto& r) {
         AddInput(r, "z", "FP32", {2, 3});
       },
       "unexpected inference input 'z'"},
      {"other datatype",
       [](auto& r) { r.mutable_inputs(0)->set_datatype("FP16"); },
       "inference input 'a' data-type is 'FP16', but model 'm' expects 'FP32'"},
      {"datatype of the config",
       [](auto& r) { r.mutable_inputs(0)->set_datatype("TYPE_FP32"); },
       "data-type is 'TYPE_FP32'"},
      {"no datatype", [](auto& r) { r.mutable_inputs(0)->clear_datatype(); },
       "data-type is ''"},
      {"fewer dims", [](auto& r) { SetShape(r, 0, {6}); },
       "unexpected shape for input 'a' for model 'm'. Expected [-1,3], got "
       "[6]"},
      {"more dims",
       [](auto& r) {
         SetShape(r, 0, {2, 3, 1});
       },
       "got [2,3,1]"},
      {"no dims", [](auto& r) { SetShape(r, 0, {}); }, "got []"},
      {"other dim",
       [](auto& r) {
         SetShape(r, 0, {2, 4});
       },
       "Expected [-1,3], got [2,4]"},
      {"negative dim",
       [](auto& r) {
         SetShape(r, 0, {2, -3});
       },
       "got [2,-3]"},
      {"any size as a dim",
       [](auto& r) {
         SetShape(r, 1, {2, -1});
       },
       "Expected [-1,-1], got [2,-1]; a request says its own sizes, of 0 or "
       "more, in place of -1"},
      {"any size as the rows",
       [](auto& r) {
         SetShape(r, 0, {-1, 3});
       },
       "Expected [-1,3], got [-1,3]; a request says its own sizes"},
      {"zero dim where the size is fixed",
       [](auto& r) {
         SetShape(r, 0, {2, 0});
       },
       "Expected [-1,3], got [2,0]"},
      {"zero rows",
       [](auto& r) {
         SetShape(r, 0, {0, 3});
       },
       "got [0,3]; a request has at least one row"},
      {"negative rows",
       [](auto& r) {
         SetShape(r, 0, {-2, 3});
       },
       "got [-2,3]"},
      {"rows past 32 bits",
       [](auto& r) {
         SetShape(r, 0, {(int64_t{1} << 32) + 2, 3});
       },
       "batch-size must be <= 67108864 for 'm', got 4294967298"},
      {"other rows in the second input",
       [](auto& r) {
         SetShape(r, 1, {1, 10});
       },
       "input 'b' batch size does not match other inputs for 'm'. Expected 2, "
       "got 1"},
      {"bytes past 64 bits",
       [](auto& r) {
         SetShape(r, 1, {2, kHuge});
       },
       "more bytes than can be counted"},
      {"bytes that wrap to the right number",
       [](auto& r) {
         SetShape(r, 1, {2, (int64_t{1} << 60) + 5});
       },
       "more bytes than can be counted"},
      {"fewer bytes",
       [](auto& r) { r.mutable_raw_input_contents(0)->pop_back(); },
       "input byte size mismatch for input 'a' for model 'm'. Expected 24, got "
       "23"},
      {"more bytes",
       [](auto& r) { r.mutable_raw_input_contents(1)->push_back('\0'); },
       "Expected 80, got 81"},
      {"no bytes", [](auto& r) { r.mutable_raw_input_contents(0)->clear(); },
       "Expected 24, got 0"},
  };
}

std::vector<WrongCase> WrongContentsOrOutputs() {
  const auto fp32 = [](ModelInferRequest& r, int count) {
    for (int i = 0; i < count; ++i) {
      r.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
    }
  };
  return {
      {"fewer raw contents than inputs",
       [](auto& r) { r.mutable_raw_input_contents()->RemoveLast(); },
       "expected 2 raw_input_contents, one an input, got 1"},
      {"more raw contents than inputs",
       [](auto& r) { r.add_raw_input_contents("x"); }, "got 3"},
      {"raw and typed both", [fp32](auto& r) { fp32(r, 6); },
       "contents field must not be specified when using raw_input_contents for "
       "'a' for model 'm'"},
      {"neither raw nor typed", [](auto& r) { r.clear_raw_input_contents(); },
       "unable to find data for input tensor 'a' for model 'm' in request"},
      {"empty typed contents",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->mutable_contents();
       },
       "input 'a' for model 'm': unexpected number of elements in "
       "fp32_contents, expected 6, got 0"},
      {"fewer typed elements",
       [fp32](auto& r) {
         r.clear_raw_input_contents();
         fp32(r, 5);
       },
       "expected 6, got 5"},
      {"typed elements of another type",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
       },
       "unexpected explicit tensor data in int_contents, expected datatype "
       "'FP32'"},
      {"two typed fields",
       [fp32](auto& r) {
         r.clear_raw_input_contents();
         fp32(r, 6);
         r.mutable_inputs(0)->mutable_contents()->add_bytes_contents("x");
       },
       "unexpected explicit tensor data in bytes_contents"},
      {"unknown output", [](auto& r) { r.add_outputs()->set_name("z"); },
       "unexpected inference output 'z' for model 'm'"},
      {"output requested twice",
       [](auto& r) {
         r.add_outputs()->set_name("x");
         r.add_outputs()->set_name("x");
       },
       "output 'x' is requested twice"},
      {"classification",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["classification"].set_int64_param(0);
       },
       "output 'x': invalid value for 'classification' parameter, expected 1 "
       "to 4096, got 0"},
      {"too many classes",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["classification"].set_int64_param(
             4097);
       },
       "expected 1 to 4096, got 4097"},
      {"type of classification",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["classification"].set_string_param(
             "3");
       },
       "'classification' parameter, expected int64_param"},
      {"output in shared memory",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["shared_memory_region"]
             .set_string_param("region");
       },
       "output 'x': parameter 'shared_memory_region': shared memory is not "
       "offered; start the server with --allow-client-shm",
       absl::StatusCode::kUnimplemented},
      {"input in shared memory",
       [](auto& r) {
         (*r.mutable_inputs(0)->mutable_parameters())["shared_memory_region"]
             .set_string_param("region");
       },
       "input 'a': parameter 'shared_memory_region'",
       absl::StatusCode::kUnimplemented},
  };
}

std::vector<WrongCase> WrongParameters() {
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  return {
      {"timeout as text",
       [](auto& r) { Parameter(r, "timeout").set_string_param("1"); },
       "invalid value type for 'timeout' parameter, expected int64_param"},
      {"timeout without a value", [](auto& r) { Parameter(r, "timeout"); },
       "expected int64_param"},
      {"negative timeout",
       [](auto& r) { Parameter(r, "timeout").set_int64_param(-1); }, "got -1"},
      {"priority as text",
       [](auto& r) { Parameter(r, "priority").set_string_param("high"); },
       "invalid value type for 'priority' parameter, expected uint64_param"},
      {"negative priority",
       [](auto& r) { Parameter(r, "priority").set_int64_param(-2); },
       "expected at least 0, got -2"},
      {"sequence",
       [](auto& r) { Parameter(r, "sequence_id").set_int64_param(1); },
       "sequences are not supported", kUnimplemented},
      {"sequence of a name",
       [](auto& r) { Parameter(r, "sequence_id").set_string_param("s"); },
       "sequences are not supported", kUnimplemented},
      {"sequence of a fraction",
       [](auto& r) { Parameter(r, "sequence_id").set_double_param(1); },
       "expected int64_param or string_param"},
      {"begin of a sequence",
       [](auto& r) { Parameter(r, "sequence_start").set_bool_param(true); },
       "parameter 'sequence_start': sequences are not supported",
       kUnimplemented},
      {"end of a sequence as a number",
       [](auto& r) { Parameter(r, "sequence_end").set_int64_param(1); },
       "expected bool_param"},
      {"empty final response as a number",
       [](auto& r) {
         Parameter(r, "triton_enable_empty_final_response").set_int64_param(1);
       },
       "expected bool_param"},
      {"reserved name",
       [](auto& r) { Parameter(r, "triton_other").set_bool_param(true); },
       "names that begin with 'triton_' are reserved"},
  };
}

class InferDecoderWrongTest : public ::testing::TestWithParam<WrongCase> {};

TEST_P(InferDecoderWrongTest, IsRefusedWithWhatWasExpectedAndFound) {
  ModelInferRequest message = RightRequest();
  GetParam().spoil(message);
  const Decoded decoded(message);
  EXPECT_EQ(decoded.status.code(), GetParam().code) << decoded.status;
  EXPECT_THAT(std::string(decoded.status.message()),
              HasSubstr(GetParam().message))
      << GetParam().what;
}

TEST(InferDecoderTest, OfSeveralWrongParametersTheFirstByNameIsAnswered) {
  ModelInferRequest message = RightRequest();
  Parameter(message, "triton_other").set_bool_param(true);
  Parameter(message, "sequence_id").set_int64_param(7);
  Parameter(message, "timeout").set_int64_param(-1);
  for (int i = 0; i < 50; ++i) {  // a map has another order each time
    const Decoded decoded(message);
    ASSERT_EQ(decoded.status.code(), absl::StatusCode::kUnimplemented)
        << decoded.status;
  }
}

std::string CaseName(const ::testing::TestParamInfo<WrongCase>& info) {
  std::string name = info.param.what;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Inputs, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongInputs()), CaseName);
INSTANTIATE_TEST_SUITE_P(ContentsAndOutputs, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongContentsOrOutputs()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Parameters, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongParameters()), CaseName);

}  // namespace
}  // namespace ferry
