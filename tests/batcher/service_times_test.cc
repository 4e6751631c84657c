// Tests that each shape has its own s(b) in time, and that of all before.
#include <gtest/gtest.h>

#include "batcher/service_time.h"

namespace ferry {
namespace {

constexpr int32_t kMaxRows = 8;
constexpr uint64_t kShort = 11;
constexpr uint64_t kLong = 12;

class ServiceTimesTest : public ::testing::Test {
 protected:
  // A batch of long rows takes thirty times as long.
  static Duration TrueTime(uint64_t shape, int32_t rows) {
    return (shape == kLong ? 30 : 1) *
           (Milliseconds(1) + rows * Milliseconds(0.1));
  }

  void Learn(uint64_t shape, int32_t rows) {
    times_.Learn({.rows = rows, .took = TrueTime(shape, rows)}, shape);
  }

  void ExpectTrue(uint64_t shape, int32_t rows) {
    const auto expected = static_cast<double>(TrueTime(shape, rows).count());
    EXPECT_NEAR(static_cast<double>(times_.Of(shape).Expected(rows).count()),
                expected, 0.02 * expected)
        << rows << " rows of " << shape;
  }

  bool IsHeard(uint64_t shape) { return &times_.Of(shape) != &times_.all(); }

  ServiceTimes times_{kMaxRows, {}};
};

TEST_F(ServiceTimesTest, OneShapeIsAll) {
  for (int i = 0; i < 100; ++i) {
    times_.Learn({.rows = 1, .took = Milliseconds(1)}, 0);
    Learn(kShort, 1);
  }
  EXPECT_FALSE(IsHeard(0));
  EXPECT_FALSE(IsHeard(kShort));
}

TEST_F(ServiceTimesTest, EachShapeHasItsOwn) {
  for (int i = 0; i < 200; ++i) {
    Learn(i % 2 == 0 ? kShort : kLong, 1 + i % kMaxRows);
    Learn(i % 2 == 0 ? kLong : kShort, 1 + i % kMaxRows);
  }
  for (int32_t rows = 1; rows <= kMaxRows; ++rows) {
    ExpectTrue(kShort, rows);
    ExpectTrue(kLong, rows);
  }
  int count = 0;
  times_.VisitShapes([&](const ServiceTimes::Shape& shape) {
    EXPECT_EQ(&shape.model, &times_.Of(shape.key));
    ++count;
  });
  EXPECT_EQ(count, 2);
}

// One size of it says how it compares to what is known of all sizes.
TEST_F(ServiceTimesTest, NewShapeIsAMultipleOfWhatIsKnown) {
  for (int i = 0; i < 200; ++i) {
    Learn(kShort, 1 + i % kMaxRows);
  }
  Learn(kLong, 2);
  EXPECT_FALSE(IsHeard(kLong));
  for (int i = 1; i < ServiceTimes::kEnough; ++i) {
    Learn(kLong, 2);
  }
  ASSERT_TRUE(IsHeard(kLong));
  ExpectTrue(kLong, 2);
  const auto most = static_cast<double>(TrueTime(kLong, kMaxRows).count());
  EXPECT_NEAR(static_cast<double>(times_.Of(kLong).Expected(kMaxRows).count()),
              most, 0.2 * most);
  ExpectTrue(kShort, 2);
}

TEST_F(ServiceTimesTest, SlowFirstBatchesOfAShapeSayLittle) {
  Learn(kShort, 1);
  for (int i = 0; i < ServiceTimes::kEnough; ++i) {
    if (i < 2) {  // the first builds kernels, the second met a neighbour
      times_.Learn({.rows = 1, .took = Milliseconds(5000)}, kLong);
    } else {
      Learn(kLong, 1);
    }
  }
  ASSERT_TRUE(IsHeard(kLong));
  ExpectTrue(kLong, 1);
}

TEST_F(ServiceTimesTest, ShapeThatCameTheLongestAgoGivesItsPlace) {
  const auto learn = [&](uint64_t shape) {
    for (int i = 0; i < ServiceTimes::kEnough; ++i) {
      Learn(shape, 1);
    }
  };
  for (uint64_t shape = 1; shape <= ServiceTimes::kMaxShapes; ++shape) {
    learn(shape);
  }
  learn(1);
  learn(1000);
  EXPECT_TRUE(IsHeard(1));
  EXPECT_FALSE(IsHeard(2));
  EXPECT_TRUE(IsHeard(3));
  EXPECT_TRUE(IsHeard(1000));
}

TEST_F(ServiceTimesTest, ForMoreShapesByTurnsThanThereArePlacesAllSpeak) {
  for (int i = 0; i < 100; ++i) {
    for (uint64_t shape = 1; shape <= ServiceTimes::kMaxShapes + 1; ++shape) {
      Learn(shape, 1 + i % kMaxRows);
    }
  }
  times_.VisitShapes([](const ServiceTimes::Shape& shape) {
    ADD_FAILURE() << shape.key << " speaks for itself";
  });
  EXPECT_EQ(times_.Of(1).Expected(1), times_.all().Expected(1));
}

}  // namespace
}  // namespace ferry
