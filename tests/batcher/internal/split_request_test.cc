// Tests where SplitRequest's parts point, and how their rows are joined.
#include "batcher/internal/split_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "batcher/internal/admission.h"
#include "tensor/bytes_elements.h"
#include "tensor/host_output_pool.h"
#include "tests/support/counting_completion.h"

namespace ferry {
namespace {

const std::byte* Bytes(const char* text) {
  return reinterpret_cast<const std::byte*>(text);
}

std::string TextOf(const TensorView& view) {
  std::string text;
  for (const ferry::ByteSegment& segment : view.segments) {
    text.append(reinterpret_cast<const char*>(segment.data), segment.size);
  }
  return text;
}

class SplitRequestTest : public ::testing::Test {
 protected:
  Admission admission_{{}, /*levels=*/1};
  CountingCompletion completion_;
};

TEST_F(SplitRequestTest, FirstErrorIsToldOnceWhileOthersRun) {
  InferRequest whole;
  whole.rows = 4;
  whole.completion = &completion_;
  SplitRequest split(whole, 1, admission_, std::make_shared<JoinBudget>(100));
  const RequestResult expired = {
      {absl::StatusCode::kDeadlineExceeded, "expired"}, {}};
  const RequestResult cancelled = {{absl::StatusCode::kCancelled, "gone"}, {}};
  EXPECT_FALSE(split.Join(split.parts()[2], expired).has_value());
  EXPECT_EQ(completion_.early().code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(split.Join(split.parts()[0], cancelled).has_value());
  EXPECT_FALSE(split.Join(split.parts()[3], cancelled).has_value());
  const std::optional<RequestResult> ending =
      split.Join(split.parts()[1], cancelled);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->outcome.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(completion_.respond_count(), 0) << "that is for Respond()";
}

TEST_F(SplitRequestTest, ErrorOfTheLastPartIsNotToldEarly) {
  InferRequest whole;
  whole.rows = 1;
  whole.completion = &completion_;
  SplitRequest split(whole, 1, admission_, std::make_shared<JoinBudget>(100));
  EXPECT_TRUE(
      split
          .Join(split.parts()[0], {{absl::StatusCode::kInternal, "failed"}, {}})
          .has_value());
  EXPECT_TRUE(completion_.early().ok());
}

TEST_F(SplitRequestTest, PartsPointIntoTheRunsOfTheWhole) {
  // Three rows: of "x" two bytes, of "y" one. Runs end within rows, and some
  // are empty.
  const std::vector<ferry::ByteSegment> x_segments = {
      {Bytes("a"), 1}, {Bytes(""), 0}, {Bytes("Abb"), 3}, {Bytes("CC"), 2}};
  const std::vector<ferry::ByteSegment> y_segments = {{Bytes("123"), 3}};
  const std::vector<int64_t> x_dims = {2};
  const std::vector<int64_t> y_dims = {1};
  const std::vector<TensorView> inputs = {{x_dims, x_segments},
                                          {y_dims, y_segments}};
  InferRequest whole;
  whole.inputs = inputs;
  whole.rows = 3;
  whole.bytes = 9;
  whole.level = 2;
  SplitRequest split(whole, 2, admission_, std::make_shared<JoinBudget>(0));
  ASSERT_EQ(split.parts().size(), 2u);
  const SplitRequest::Part& first = split.parts()[0];
  const SplitRequest::Part& last = split.parts()[1];
  EXPECT_EQ(first.rows, 2);
  EXPECT_EQ(TextOf(first.inputs[0]), "aAbb");
  EXPECT_EQ(TextOf(first.inputs[1]), "12");
  EXPECT_EQ(first.bytes, 0u) << "the whole has them";
  EXPECT_EQ(last.rows, 1);
  EXPECT_EQ(TextOf(last.inputs[0]), "CC");
  EXPECT_EQ(TextOf(last.inputs[1]), "3");
  EXPECT_EQ(last.bytes, 0u);
  EXPECT_EQ(last.level, 2);
  EXPECT_TRUE(SameShape(last.inputs, whole.inputs));
}

// Three rows of two elements of type BYTES, the first of each row empty.
const std::string kTextRows[] = {std::string("\0\0\0\0\1\0\0\0a", 9),
                                 std::string("\0\0\0\0\0\0\0\0", 8),
                                 std::string("\0\0\0\0\2\0\0\0bc", 10)};
const std::vector<int64_t> kTextDims = {2};

TEST_F(SplitRequestTest, RowsOfBytesAreCutBehindTheirElements) {
  const std::string all = kTextRows[0] + kTextRows[1] + kTextRows[2];
  // The second run begins within a length.
  const std::vector<ferry::ByteSegment> segments = {
      {Bytes(all.data()), 11}, {Bytes(all.data() + 11), 16}};
  const std::vector<TensorView> inputs = {
      {.dims = kTextDims, .segments = segments, .is_bytes = true}};
  InferRequest whole;
  whole.inputs = inputs;
  whole.rows = 3;
  SplitRequest split(whole, 2, admission_, std::make_shared<JoinBudget>(0));
  EXPECT_EQ(TextOf(split.parts()[0].inputs[0]), kTextRows[0] + kTextRows[1]);
  EXPECT_EQ(TextOf(split.parts()[1].inputs[0]), kTextRows[2]);
  EXPECT_TRUE(split.parts()[1].inputs[0].is_bytes);
}

// A buffer of one output of type BYTES that holds that row.
OutputRef TextRow(HostOutputPool& pool, const std::string& row) {
  OutputRef output = pool.Take();
  HostOutputPool::LayoutBytes(*output.get(), 0, row.size(), kTextDims);
  OutputTensor& tensor = output->mutable_tensors()[0];
  std::copy_n(Bytes(row.data()), row.size(), tensor.data);
  IndexBytesRows(1, row.size(), tensor);
  return output;
}

// Ends the parts of a request of three rows, the last one first.
std::optional<RequestResult> JoinTextRows(SplitRequest& split) {
  HostOutputPool pool(1, 3);
  std::optional<RequestResult> ending;
  for (const size_t part : {2, 0, 1}) {
    EXPECT_FALSE(ending.has_value());
    const OutputRef output = TextRow(pool, kTextRows[part]);
    ending = split.Join(split.parts()[part], {{}, {output.get(), 0, 1}});
  }
  return ending;
}

TEST_F(SplitRequestTest, RowsOfBytesAreJoinedInTheirOrder) {
  InferRequest whole;
  whole.rows = 3;
  const auto budget = std::make_shared<JoinBudget>(54);
  {
    SplitRequest split(whole, 1, admission_, budget);
    const std::optional<RequestResult> ending = JoinTextRows(split);
    ASSERT_TRUE(ending.has_value() && ending->outcome.ok());
    EXPECT_EQ(ending->rows.count, 3);
    const OutputTensor& joined = ending->rows.buffer->tensors()[0];
    for (int32_t row = 0; row < 3; ++row) {
      const ferry::ByteSegment segment = joined.Rows(row, 1);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(segment.data),
                            segment.size),
                kTextRows[row]);
    }
    EXPECT_TRUE(budget->TryTake(54)) << "given back, the rows are the reply's";
    budget->GiveBack(54);
  }
  EXPECT_TRUE(budget->TryTake(54)) << "given back";
  EXPECT_FALSE(budget->TryTake(1)) << "given back once";
}

// Ends the parts of a request, each with rows of those texts, in their order.
std::optional<RequestResult> JoinOwnSizes(
    SplitRequest& split, const std::vector<std::vector<std::string>>& texts) {
  HostOutputPool pool(1, 2);
  std::optional<RequestResult> ending;
  for (size_t part = 0; part < texts.size(); ++part) {
    const OutputRef output = pool.Take();
    const std::string all = absl::StrJoin(texts[part], "");
    HostOutputPool::LayoutBytes(*output.get(), 0, all.size(), {kAnySize});
    OutputTensor& tensor = output->mutable_tensors()[0];
    std::copy_n(Bytes(all.data()), all.size(), tensor.data);
    tensor.row_starts = {0};
    for (const std::string& row : texts[part]) {
      tensor.row_starts.push_back(tensor.row_starts.back() + row.size());
    }
    ending = split.Join(
        split.parts()[part],
        {{}, {output.get(), 0, static_cast<int32_t>(texts[part].size())}});
  }
  return ending;
}

TEST_F(SplitRequestTest, RowsOfTheRequestsOwnSizeAreJoined) {
  InferRequest whole;
  whole.rows = 3;
  SplitRequest split(whole, 2, admission_, std::make_shared<JoinBudget>(100));
  const std::optional<RequestResult> ending =
      JoinOwnSizes(split, {{"abc", "def"}, {"ghi"}});
  ASSERT_TRUE(ending.has_value() && ending->outcome.ok());
  const OutputTensor& joined = ending->rows.buffer->tensors()[0];
  const std::string texts[] = {"abc", "def", "ghi"};
  for (int32_t row = 0; row < 3; ++row) {
    const ferry::ByteSegment segment = joined.Rows(row, 1);
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(segment.data), segment.size),
        texts[row]);
    EXPECT_EQ(joined.AnySize(row, 1), 3);
  }
}

TEST_F(SplitRequestTest, RowsOfDifferentSizesAreAnError) {
  const std::vector<std::vector<std::string>> of_other_sizes[] = {
      {{"abc", "def"}, {"gh"}},      // in another part
      {{"abc", "de"}, {"fgh"}},      // in the first
      {{"ab", "cd"}, {"e", "fgh"}},  // as many bytes as there should be
  };
  for (const auto& texts : of_other_sizes) {
    CountingCompletion completion;
    InferRequest whole;
    whole.rows = static_cast<int32_t>(2 + texts[1].size());
    whole.completion = &completion;
    SplitRequest split(whole, 2, admission_, std::make_shared<JoinBudget>(100));
    const std::optional<RequestResult> ending = JoinOwnSizes(split, texts);
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->outcome.code, absl::StatusCode::kInternal);
    EXPECT_STREQ(ending->outcome.text,
                 "model gave the parts of one request outputs of different "
                 "shapes: expected rows as large as those of the first part");
    EXPECT_EQ(ending->rows.buffer, nullptr);
  }
}

TEST_F(SplitRequestTest, RowsOfBytesStayWithinTheBudget) {
  InferRequest whole;
  whole.rows = 3;
  whole.completion = &completion_;
  SplitRequest split(whole, 1, admission_, std::make_shared<JoinBudget>(53));
  const std::optional<RequestResult> ending = JoinTextRows(split);
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->outcome.code, absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ending->rows.buffer, nullptr);
}

TEST_F(SplitRequestTest, CountsItsParts) {
  EXPECT_EQ(SplitRequest::PartsOf(1, 4), 1);
  EXPECT_EQ(SplitRequest::PartsOf(4, 4), 1);
  EXPECT_EQ(SplitRequest::PartsOf(5, 4), 2);
  EXPECT_EQ(SplitRequest::PartsOf(1 << 30, 1), 1 << 30);
}

TEST_F(SplitRequestTest, OutputsOfDifferentShapesAreAnError) {
  InferRequest whole;
  whole.rows = 2;
  SplitRequest split(whole, 1, admission_, std::make_shared<JoinBudget>(100));
  HostOutputPool pool(1, 2);
  for (int64_t width : {3, 4}) {
    const OutputRef output = pool.Take();
    HostOutputPool::Layout(*output.get(), 0, 1, DataType::kInt8, {width});
    const std::optional<RequestResult> ending =
        split.Join(split.parts()[static_cast<size_t>(width - 3)],
                   {{}, {output.get(), 0, 1}});
    if (width == 3) {
      EXPECT_FALSE(ending.has_value()) << "one part is left";
    } else {
      ASSERT_TRUE(ending.has_value());
      EXPECT_EQ(ending->outcome.code, absl::StatusCode::kInternal);
      EXPECT_EQ(ending->rows.buffer, nullptr);
    }
  }
}

TEST_F(SplitRequestTest, JoinedOutputsStayWithinTheBudget) {
  const auto budget = std::make_shared<JoinBudget>(10);
  HostOutputPool pool(1, 2);
  const OutputRef output = pool.Take();
  HostOutputPool::Layout(*output.get(), 0, 1, DataType::kInt8, {3});
  InferRequest whole;
  whole.rows = 3;
  whole.completion = &completion_;
  const auto join = [&](SplitRequest& split, size_t part) {
    return split.Join(split.parts()[part], {{}, {output.get(), 0, 1}});
  };
  SplitRequest first(whole, 1, admission_, budget);
  EXPECT_FALSE(join(first, 0).has_value()) << "takes nine bytes of ten";
  {
    SplitRequest second(whole, 1, admission_, budget);
    EXPECT_FALSE(join(second, 0).has_value());
    EXPECT_TRUE(second.IsOfNoUse());
    EXPECT_FALSE(join(second, 1).has_value());
    EXPECT_EQ(join(second, 2)->outcome.code,
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_FALSE(join(first, 1).has_value());
  const std::optional<RequestResult> ending = join(first, 2);
  ASSERT_TRUE(ending.has_value() && ending->outcome.ok());
  // Its rows are alive, of a client that may never read them.
  SplitRequest third(whole, 1, admission_, budget);
  EXPECT_FALSE(join(third, 0).has_value());
  EXPECT_FALSE(third.IsOfNoUse()) << "it was given back";
}

}  // namespace
}  // namespace ferry
