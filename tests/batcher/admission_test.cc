// Admission: each bound at and past its limit (G5), and closing.
#include "batcher/admission.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace ferry {
namespace {

using Verdict = Admission::Verdict;

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

TEST(Admission, CountsWhatItAdmits) {
  Admission admission({.requests = 4, .rows = 10, .bytes = 100});
  const Admission::Admitted first = admission.TryAdmit(3, 40);
  EXPECT_EQ(first.verdict, Verdict::kAdmitted);
  EXPECT_EQ(first.queued_rows, 3);
  EXPECT_EQ(admission.TryAdmit(2, 10).queued_rows, 5);
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
  Admission admission({.requests = 2, .rows = 10, .bytes = 100});
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kRequestsFull);
  EXPECT_EQ(admission.requests(), 2);
  EXPECT_EQ(admission.rows(), 2);
  EXPECT_EQ(admission.bytes(), 2) << "a refused request leaves nothing behind";
  admission.LeaveQueue(1, 1);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kAdmitted);
}

TEST(Admission, RowsAreBoundedAtTheLimit) {
  Admission admission({.requests = 10, .rows = 5, .bytes = 100});
  EXPECT_EQ(admission.TryAdmit(3, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(3, 1).verdict, Verdict::kRowsFull);
  EXPECT_EQ(admission.TryAdmit(2, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kRowsFull);
  EXPECT_EQ(admission.rows(), 5);
  EXPECT_EQ(admission.requests(), 2);
}

TEST(Admission, BytesAreBoundedAtTheLimit) {
  Admission admission({.requests = 10, .rows = 10, .bytes = 100});
  EXPECT_EQ(admission.TryAdmit(1, 101).verdict, Verdict::kBytesFull);
  EXPECT_EQ(admission.TryAdmit(1, 100).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kBytesFull);
  EXPECT_EQ(admission.TryAdmit(1, 0).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.bytes(), 100);
  EXPECT_EQ(admission.requests(), 2);
}

TEST(Admission, BytesPastEveryNumberAreRefused) {
  Admission admission({.requests = 10, .rows = 10, .bytes = kMaxInt64});
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, std::numeric_limits<size_t>::max()).verdict,
            Verdict::kBytesFull);
  EXPECT_EQ(admission.TryAdmit(1, size_t{1} << 63).verdict,
            Verdict::kBytesFull);
  EXPECT_EQ(admission.bytes(), 1);
}

TEST(Admission, RowsPastEveryNumberAreRefused) {
  Admission admission({.requests = 10, .rows = kMaxInt32, .bytes = 100});
  EXPECT_EQ(admission.TryAdmit(kMaxInt32, 1).verdict, Verdict::kAdmitted);
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kRowsFull);
  EXPECT_EQ(admission.TryAdmit(kMaxInt32, 1).verdict, Verdict::kRowsFull);
  EXPECT_EQ(admission.rows(), kMaxInt32);
  EXPECT_EQ(admission.requests(), 1);
}

TEST(Admission, ClosedAdmitsNothingAndKeepsItsCounts) {
  Admission admission({.requests = 10, .rows = 10, .bytes = 100});
  EXPECT_EQ(admission.TryAdmit(2, 20).verdict, Verdict::kAdmitted);
  EXPECT_FALSE(admission.closed());
  admission.Close();
  EXPECT_TRUE(admission.closed());
  EXPECT_EQ(admission.TryAdmit(1, 1).verdict, Verdict::kClosed);
  EXPECT_EQ(admission.requests(), 1);
  EXPECT_EQ(admission.rows(), 2);
  EXPECT_EQ(admission.bytes(), 20);
}

}  // namespace
}  // namespace ferry
