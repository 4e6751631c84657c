// Tests that Admission keeps each bound at and past its limit (G5), and closes.
#include "batcher/internal/admission.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace ferry {
namespace {

constexpr std::nullopt_t kAdmitted = std::nullopt;

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

TEST(Admission, CountsWhatItAdmits) {
  Admission admission({.requests = 4, .rows = 10, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 3, 40), kAdmitted);
  EXPECT_EQ(admission.rows(), 3);
  EXPECT_EQ(admission.TryAdmit(0, 1, 2, 10), kAdmitted);
  EXPECT_EQ(admission.requests(), 2);
  EXPECT_EQ(admission.rows(), 5);
  EXPECT_EQ(admission.bytes(), 50);
  admission.LeaveQueue(2, 5);
  EXPECT_EQ(admission.requests(), 0);
  EXPECT_EQ(admission.rows(), 0);
  EXPECT_EQ(admission.bytes(), 50) << "bytes stay until the batch is staged";
  admission.ReleaseBytes(50);
  EXPECT_EQ(admission.bytes(), 0);
}

TEST(Admission, RequestsAreBoundedAtTheLimit) {
  Admission admission({.requests = 2, .rows = 10, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), Refusal::kQueueRequests);
  EXPECT_EQ(admission.requests(), 2);
  EXPECT_EQ(admission.rows(), 2);
  EXPECT_EQ(admission.bytes(), 2) << "a refused request leaves nothing behind";
  admission.LeaveQueue(1, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), kAdmitted);
}

TEST(Admission, RowsAreBoundedAtTheLimit) {
  Admission admission({.requests = 10, .rows = 5, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 3, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 3, 1), Refusal::kQueueRows);
  EXPECT_EQ(admission.TryAdmit(0, 1, 2, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), Refusal::kQueueRows);
  EXPECT_EQ(admission.rows(), 5);
  EXPECT_EQ(admission.requests(), 2);
}

TEST(Admission, BytesAreBoundedAtTheLimit) {
  Admission admission({.requests = 10, .rows = 10, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 101), Refusal::kQueueBytes);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 100), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), Refusal::kQueueBytes);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 0), kAdmitted);
  EXPECT_EQ(admission.bytes(), 100);
  EXPECT_EQ(admission.requests(), 2);
}

TEST(Admission, BytesPastEveryNumberAreRefused) {
  Admission admission({.requests = 10, .rows = 10, .bytes = kMaxInt64}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, std::numeric_limits<size_t>::max()),
            Refusal::kQueueBytes);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, size_t{1} << 63), Refusal::kQueueBytes);
  EXPECT_EQ(admission.bytes(), 1);
}

TEST(Admission, RowsPastEveryNumberAreRefused) {
  Admission admission({.requests = 10, .rows = kMaxInt32, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, kMaxInt32, 1), kAdmitted);
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), Refusal::kQueueRows);
  EXPECT_EQ(admission.TryAdmit(0, 1, kMaxInt32, 1), Refusal::kQueueRows);
  EXPECT_EQ(admission.rows(), kMaxInt32);
  EXPECT_EQ(admission.requests(), 1);
}

TEST(Admission, ClosedAdmitsNothingAndKeepsItsCounts) {
  Admission admission({.requests = 10, .rows = 10, .bytes = 100}, 1);
  EXPECT_EQ(admission.TryAdmit(0, 1, 2, 20), kAdmitted);
  EXPECT_FALSE(admission.closed());
  admission.Close();
  EXPECT_TRUE(admission.closed());
  EXPECT_EQ(admission.TryAdmit(0, 1, 1, 1), Refusal::kDraining);
  EXPECT_EQ(admission.requests(), 1);
  EXPECT_EQ(admission.rows(), 2);
  EXPECT_EQ(admission.bytes(), 20);
}

}  // namespace
}  // namespace ferry
