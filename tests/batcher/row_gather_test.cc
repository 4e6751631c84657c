// Tests that GatherRows joins rows in request order, from runs of any size.
#include "batcher/row_gather.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/test_request.h"

namespace ferry {
namespace {

TEST(RowGather, RowsOfAllRequestsLieBehindEachOther) {
  Batch batch(4, 64);
  TestRequest first({.id = 1, .rows = 2, .width = 3});
  TestRequest second({.id = 2, .rows = 1, .width = 3});
  batch.Add(first.request());
  batch.Add(second.request());
  std::vector<int64_t> rows(9, -1);
  auto* const to = reinterpret_cast<std::byte*>(rows.data());
  EXPECT_EQ(GatherRows(batch, 0, to), to + 9 * sizeof(int64_t));
  EXPECT_EQ(rows, (std::vector<int64_t>{1000, 1000, 1000, 1001, 1001, 1001,
                                        2000, 2000, 2000}));
}

// Cuts `text` into runs of random sizes, empty ones included.
std::vector<ByteSegment> CutAtRandom(const std::string& text,
                                     std::mt19937& random) {
  std::vector<ByteSegment> segments;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t size = std::min<size_t>(random() % 8, text.size() - begin);
    segments.push_back(
        {reinterpret_cast<const std::byte*>(text.data()) + begin, size});
    begin += size;
  }
  return segments;
}

TEST(RowGather, RunsOfAnySizeAndAlignmentAreJoined) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    const std::vector<ferry::ByteSegment> segments = CutAtRandom(text, random);
    const int64_t dims[] = {static_cast<int64_t>(text.size())};
    const TensorView inputs[] = {{.dims = dims, .segments = {}},
                                 {.dims = dims, .segments = segments}};
    InferRequest request;
    request.inputs = inputs;
    Batch batch(1, 1);
    batch.Add(request);
    std::string gathered(text.size(), '?');
    GatherRows(batch, 1, reinterpret_cast<std::byte*>(gathered.data()));
    EXPECT_EQ(gathered, text) << "seed " << seed;
    std::vector<std::byte> room(1 + random() % (2 * text.size()));
    std::string joined;
    GatherPieces(
        batch, 1, absl::MakeSpan(room), [&](absl::Span<const std::byte> piece) {
          EXPECT_EQ(joined.size() % room.size(), 0u) << "those before are full";
          joined.append(reinterpret_cast<const char*>(piece.data()),
                        piece.size());
        });
    EXPECT_EQ(joined, text) << "seed " << seed;
  }
}

TEST(RowGather, SmallerRowsArePaddedToThoseOfTheBatch) {
  const std::array<int64_t, 2> padded = {2, 3};
  const std::array<int64_t, 2> small = {2, 1};
  const std::string texts[] = {"aAbB", "cdeCDE"};  // two rows, then one
  std::vector<ferry::ByteSegment> segments;
  for (const std::string& text : texts) {
    segments.push_back(
        {reinterpret_cast<const std::byte*>(text.data()), text.size()});
  }
  const TensorView views[] = {
      {.dims = small, .segments = {&segments[0], 1}, .padded_dims = padded},
      {.dims = padded, .segments = {&segments[1], 1}, .padded_dims = padded}};
  InferRequest requests[2];
  Batch batch(2, 3);
  for (size_t i = 0; i < 2; ++i) {
    requests[i].inputs = {&views[i], 1};
    requests[i].rows = i == 0 ? 2 : 1;
    batch.Add(requests[i]);
    EXPECT_TRUE(IsPadded(batch, 0));
  }
  std::string rows(19, '?');
  auto* const to = reinterpret_cast<std::byte*>(rows.data());
  EXPECT_EQ(GatherPaddedRows(batch, 0, DataType::kInt8, 1, to), to + 18);
  EXPECT_EQ(rows, std::string("a\0\0A\0\0b\0\0B\0\0cdeCDE?", 19));
  Batch whole(1, 1);
  whole.Add(requests[1]);
  EXPECT_FALSE(IsPadded(whole, 0));
}

TEST(RowGather, RowsWithoutElementsNeedNoRoom) {
  TestRequest request({.rows = 2, .width = 0});
  Batch batch(1, 2);
  batch.Add(request.request());
  EXPECT_EQ(GatherRows(batch, 0, nullptr), nullptr);
}

}  // namespace
}  // namespace ferry
