// Tests that EchoModel repeats inputs bit by bit and refuses other specs.
#include "batcher/sim/echo_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

TEST(EchoModel, OutputRepeatsTheRowsOfABatch) {
  const auto model = EchoModel::Create(RowSpec(2));
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE((*model)->WarmUp().ok());
  for (int round = 0; round < 3; ++round) {
    TestRequest first({.id = 1, .rows = 2, .width = 2});
    TestRequest second({.id = 2, .rows = 1, .width = 2});
    Batch batch(2, 4);
    batch.Add(first.request());
    batch.Add(second.request());
    OutputRef output;
    ASSERT_TRUE((*model)->Gather(batch).ok());
    ASSERT_TRUE((*model)->Compute(batch, output).ok());
    const auto* const values =
        reinterpret_cast<const int64_t*>(output->tensors()[0].data);
    EXPECT_THAT(std::vector<int64_t>(values, values + 6),
                ::testing::ElementsAre(1000, 1000, 1001, 1001, 2000, 2000));
  }
}

TEST(EchoModel, RowsWithoutElementsAreEchoed) {
  const auto model = EchoModel::Create(RowSpec(0));
  ASSERT_TRUE(model.ok());
  TestRequest request({.rows = 2, .width = 0});
  Batch batch(1, 2);
  batch.Add(request.request());
  OutputRef output;
  ASSERT_TRUE((*model)->Gather(batch).ok());
  ASSERT_TRUE((*model)->Compute(batch, output).ok());
  EXPECT_EQ(output->tensors()[0].row_bytes, 0u);
}

TEST(EchoModel, BytesAreEchoedRowByRow) {
  ModelSpec spec = RowSpec(2);
  spec.inputs[0].type = DataType::kBytes;
  spec.outputs[0].type = DataType::kBytes;
  const auto model = EchoModel::Create(spec);
  ASSERT_TRUE(model.ok());
  // Rows of two elements: one of "abc" and "", one of "" and "de".
  const std::string rows[] = {std::string("\3\0\0\0abc\0\0\0\0", 11),
                              std::string("\0\0\0\0\2\0\0\0de", 10)};
  const int64_t dims[] = {2};
  ferry::ByteSegment segments[2];
  TensorView views[2];
  InferRequest requests[2];
  Batch batch(2, 2);
  for (size_t i = 0; i < 2; ++i) {
    segments[i] = {reinterpret_cast<const std::byte*>(rows[i].data()),
                   rows[i].size()};
    views[i] = {.dims = dims, .segments = {&segments[i], 1}, .is_bytes = true};
    requests[i].inputs = {&views[i], 1};
    batch.Add(requests[i]);
  }
  for (int round = 0; round < 2; ++round) {
    OutputRef output;
    ASSERT_TRUE((*model)->Gather(batch).ok());
    ASSERT_TRUE((*model)->Compute(batch, output).ok());
    for (int32_t i = 0; i < 2; ++i) {
      const ferry::ByteSegment row = output->tensors()[0].Rows(i, 1);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(row.data), row.size),
                rows[i]);
    }
  }
}

TEST(EchoModel, SpecsItCannotEchoAreRefused) {
  ModelSpec more_inputs = RowSpec();
  more_inputs.inputs.push_back(more_inputs.inputs[0]);
  ModelSpec other_type = RowSpec();
  other_type.outputs[0].type = DataType::kFp32;
  ModelSpec other_dims = RowSpec();
  other_dims.outputs[0].dims = {7};
  ModelSpec optional = RowSpec();
  optional.inputs[0].is_optional = true;
  const struct {
    ModelSpec spec;
    const char* message;
  } kCases[] = {
      {ModelSpec{}, "got 0 inputs and 0 outputs"},
      {more_inputs, "got 2 inputs and 1 outputs"},
      {other_type, "to have the type and dims of input 'x'"},
      {other_dims, "to have the type and dims of input 'x'"},
      {optional, "input 'x' must not be optional"},
  };
  for (const auto& c : kCases) {
    const auto model = EchoModel::Create(c.spec);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(model.status().message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace ferry
