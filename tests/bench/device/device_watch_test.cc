// Tests when a watch reads. Its windows have begun long ago, or never will, so
// that no test depends on how fast a thread is.
#include "bench/device/device_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>

namespace ferry::bench {
namespace {

constexpr TimePoint kLongAgo{};

// A device that draws as many watts as it was read times, one a second.
class CountingSource final : public DeviceSource {
 public:
  std::optional<DeviceReading> Read() override {
    ++reads_;
    if (on_read) {
      on_read(reads_);
    }
    if (!answers) {
      return std::nullopt;
    }
    DeviceReading reading;
    reading.at = TimePoint(std::chrono::seconds(reads_));
    reading.values.power_watts = reads_;
    return reading;
  }

  // Reads by the watch's thread, until it is finished.
  int reads() const { return reads_; }

  std::function<void(int reads)> on_read;
  bool answers = true;

 private:
  int reads_ = 0;
};

TEST(DeviceWatchTest, ReadsAtBothEndsOfAWindow) {
  CountingSource source;
  DeviceWatch watch(&source, kLongAgo, kLongAgo + Milliseconds(1000));
  const auto summary = watch.Finish();
  EXPECT_EQ(source.reads(), 2);
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->power_w, 2) << "the second read is of the window";
  EXPECT_EQ(watch.Finish()->power_w, 2) << "asked again";
}

TEST(DeviceWatchTest, WindowThatIsEndedIsReadOnceMore) {
  CountingSource source;
  DeviceWatch watch(&source, kLongAgo, kNever);
  watch.EndNow();
  EXPECT_TRUE(watch.Finish().has_value());
  EXPECT_EQ(source.reads(), 2);
}

TEST(DeviceWatchTest, ReadsAgainUntilTheWindowEnds) {
  CountingSource source;
  std::promise<DeviceWatch*> made;
  std::promise<void> sixth;
  source.on_read = [&](int reads) {
    if (reads == 5) {
      made.get_future().get()->EndNow();
    }
    if (reads == 6) {
      sixth.set_value();
    }
  };
  DeviceWatch watch(&source, kLongAgo, kNever, Duration(1));
  made.set_value(&watch);
  sixth.get_future().wait();
  EXPECT_TRUE(watch.Finish().has_value());
  EXPECT_EQ(source.reads(), 6) << "five, and one at the end";
}

TEST(DeviceWatchTest, WindowThatNeverBeganHasNothing) {
  CountingSource source;
  DeviceWatch watch(&source, kNever, kNever);
  EXPECT_FALSE(watch.Finish().has_value());
  EXPECT_EQ(source.reads(), 0);
}

TEST(DeviceWatchTest, DeviceThatDoesNotAnswerHasNothing) {
  CountingSource source;
  source.answers = false;
  DeviceWatch watch(&source, kLongAgo, kLongAgo);
  EXPECT_FALSE(watch.Finish().has_value());
  EXPECT_EQ(source.reads(), 2);
}

TEST(DeviceWatchTest, NoDeviceHasNothing) {
  DeviceWatch watch(nullptr, kLongAgo, kNever);
  EXPECT_FALSE(watch.Finish().has_value());
}

}  // namespace
}  // namespace ferry::bench
