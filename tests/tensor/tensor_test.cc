// Tests shapes: row sizes, keys, comparison, and what varies.
#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <set>

namespace ferry {
namespace {

TensorView View(absl::Span<const int64_t> dims) {
  return {.dims = dims, .segments = {}};
}

TEST(Tensor, RowBytesIsElementsTimesSize) {
  EXPECT_EQ(RowBytes(DataType::kFp32, {3, 224, 224}), 3u * 224 * 224 * 4);
  EXPECT_EQ(RowBytes(DataType::kBf16, {}), 2u) << "a scalar is one element";
  EXPECT_EQ(RowBytes(DataType::kInt64, {5, 0}), 0u);
}

TEST(TensorDeathTest, RowBytesOfAnImpossibleShapeIsABug) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_DEATH(RowBytes(DataType::kFp32, {kHuge, kHuge}), "row size is known");
  EXPECT_DEATH(RowBytes(DataType::kFp32, {-1}), "row size is known");
  EXPECT_DEATH(RowBytes(DataType::kBytes, {1}), "row size is known");
}

TEST(Tensor, VariableShapeIsSeenInAnyInput) {
  ModelSpec spec;
  EXPECT_FALSE(HasVariableShape(spec));
  spec.inputs = {{"a", DataType::kFp32, {4}}, {"b", DataType::kFp32, {2, 3}}};
  EXPECT_FALSE(HasVariableShape(spec));
  spec.inputs[1].dims[1] = kAnySize;
  EXPECT_TRUE(HasVariableShape(spec));
}

TEST(Tensor, RequestsMayDifferInShapeAndInWhatTheyBring) {
  ModelSpec spec;
  spec.inputs = {{"a", DataType::kFp32, {4}}, {"b", DataType::kFp32, {2}}};
  EXPECT_FALSE(RequestsMayDiffer(spec));
  spec.inputs[1].is_optional = true;
  EXPECT_TRUE(RequestsMayDiffer(spec));
  EXPECT_FALSE(HasVariableShape(spec));
  spec.inputs[1] = {"b", DataType::kFp32, {kAnySize}};
  EXPECT_TRUE(RequestsMayDiffer(spec));
}

TEST(Tensor, InputThatIsLeftOutIsOfNoShape) {
  const TensorView absent = {
      .dims = {}, .segments = {}, .is_bytes = false, .is_given = false};
  const TensorView scalar = View({});
  EXPECT_FALSE(SameShape({absent}, {scalar}));
  EXPECT_TRUE(SameShape({absent}, {absent}));
  EXPECT_NE(ShapeKey({absent}), ShapeKey({scalar}));
  EXPECT_EQ(ShapeKey({absent}), ShapeKey({absent}));
}

TEST(Tensor, SameShapeComparesEveryInput) {
  const int64_t a[] = {2, 3};
  const int64_t b[] = {3, 2};
  const int64_t c[] = {2, 3, 1};
  EXPECT_TRUE(SameShape({View(a), View(b)}, {View(a), View(b)}));
  EXPECT_FALSE(SameShape({View(a), View(b)}, {View(a), View(a)}));
  EXPECT_FALSE(SameShape({View(a)}, {View(c)}));
  EXPECT_FALSE(SameShape({View(a)}, {View(a), View(a)}));
  EXPECT_TRUE(SameShape({}, {}));
}

TEST(Tensor, RowsOfOneShapeInABatchAreAlike) {
  const std::vector<int64_t> small = {3};
  const std::vector<int64_t> large = {4};
  TensorView padded = View(small);
  padded.padded_dims = large;
  EXPECT_TRUE(SameShape({padded}, {View(large)}));
  EXPECT_FALSE(SameShape({padded}, {View(small)}));
  EXPECT_EQ(ShapeKey({padded}), ShapeKey({View(large)}));
}

TEST(Tensor, TensorsAreFoundByName) {
  const std::vector<TensorSpec> tensors = {{.name = "a", .dims = {}},
                                           {.name = "b", .dims = {}}};
  EXPECT_EQ(FindTensor(tensors, "b"), 1u);
  EXPECT_EQ(FindTensor(tensors, "c"), std::nullopt);
}

TEST(Tensor, ShapeKeyIsEqualForEqualShapesAndDiffersForOthers) {
  std::set<uint64_t> keys;
  for (int64_t first = 0; first < 30; ++first) {
    for (int64_t second = 0; second < 30; ++second) {
      const int64_t dims[] = {first, second};
      const int64_t same[] = {first, second};
      EXPECT_EQ(ShapeKey({View(dims)}), ShapeKey({View(same)}));
      keys.insert(ShapeKey({View(dims)}));
    }
  }
  EXPECT_EQ(keys.size(), 900u);
}

TEST(Tensor, ShapeKeyTellsWhichInputHasTheShape) {
  const int64_t a[] = {2};
  const int64_t b[] = {3};
  EXPECT_NE(ShapeKey({View(a), View(b)}), ShapeKey({View(b), View(a)}));
}

}  // namespace
}  // namespace ferry
