// Tests which failures are taken for those of types, and what is kept of them.
#include "models/type_failures.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/row_requests.h"
#include "models/synthetic_row.h"

namespace ferry {
namespace {

constexpr char kOfTypes[] = "mat1 and mat2 must have the same dtype";

TEST(IsOfTypesTest, KnowsWhatLibTorchSaysOfTypes) {
  for (const char* const failure : {
           "expected m1 and m2 to have the same dtype, but got: float != "
           "c10::BFloat16",
           "mat1 and mat2 must have the same dtype, but got Float and BFloat16",
           "Input type (float) and bias type (c10::BFloat16) should be the "
           "same",
           "expected scalar type Float but found BFloat16",
           "\"lu_factor_cpu\" not implemented for 'BFloat16'",
           "Index put requires the source and destination dtypes match",
           "forward() gives a linear layer another type than BFloat16 (it may "
           "cast by itself), or another size than its weights have",
       }) {
    EXPECT_TRUE(IsOfTypes(failure)) << failure;
  }
  for (const char* const failure :
       {"index out of range in self",
        "mat1 and mat2 shapes cannot be multiplied (1x4 and 5x4)",
        "AssertionError: poison", "DoubleTower: assertion failed"}) {
    EXPECT_FALSE(IsOfTypes(failure)) << failure;
  }
}

class TypeFailuresTest : public testing::Test {
 protected:
  // A batch of two rows of an input [2] of int64, and one that is left out.
  TypeFailuresTest() {
    spec_.inputs = {{.name = "x", .type = DataType::kInt64, .dims = {kAnySize}},
                    {.name = "y", .dims = {1}, .is_optional = true}};
    for (const auto value : {std::byte{5}, std::byte{6}}) {
      rows_.push_back(
          {{.dims = {2}, .bytes = std::vector<std::byte>(16, value)},
           {.is_given = false, .dims = {}, .bytes = {}}});
    }
    requests_ = std::make_unique<RowRequests>(spec_, rows_);
  }

  void Note(const char* why, TimePoint now) {
    failures_.Note(requests_->batch(), why, now);
  }

  ModelSpec spec_;
  std::vector<std::vector<RowInput>> rows_;
  std::unique_ptr<RowRequests> requests_;
  TypeFailures failures_;
  const TimePoint start_{std::chrono::hours(1)};
};

TEST_F(TypeFailuresTest, RowsOutliveTheirRequests) {
  Note(kOfTypes, start_);
  requests_.reset();
  rows_.clear();
  const auto failure = failures_.Take();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->why, kOfTypes);
  const Batch& batch = failure->batch->batch();
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_THAT(batch.row_dims(0), testing::ElementsAre(2));
  EXPECT_FALSE(batch.is_given(1));
  ASSERT_EQ(batch.entries().size(), 2U);
  const TensorView& second = batch.entries()[1].request->inputs[0];
  ASSERT_EQ(second.segments.size(), 1U);
  EXPECT_EQ(second.segments[0].size, 16U);
  EXPECT_EQ(second.segments[0].data[15], std::byte{6});
  EXPECT_FALSE(failures_.Take().has_value()) << "it is taken once";
}

TEST_F(TypeFailuresTest, OtherFailuresAreNotKept) {
  Note("index out of range in self", start_);
  EXPECT_FALSE(failures_.Take().has_value());
}

TEST_F(TypeFailuresTest, NextIsKeptAfterTwiceAsLongEachTime) {
  TimePoint now = start_;
  Duration between = TypeFailures::kBetween;
  for (int i = 0; i < 10; ++i) {
    Note(kOfTypes, now);
    EXPECT_TRUE(failures_.Take().has_value()) << i;
    Note(kOfTypes, now + between - Duration(1));
    EXPECT_FALSE(failures_.Take().has_value()) << i;
    now += between;
    between = std::min(2 * between, TypeFailures::kMostBetween);
  }
}

TEST_F(TypeFailuresTest, BatchOfFewerRequestsTakesThePlace) {
  Note(kOfTypes, start_);
  const RowRequests one(spec_, {rows_[1]});
  failures_.Note(one.batch(), "dtype of the half", start_);
  Note(kOfTypes, start_);
  const auto failure = failures_.Take();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->why, "dtype of the half");
  EXPECT_EQ(failure->batch->batch().entries().size(), 1U);
}

}  // namespace
}  // namespace ferry
