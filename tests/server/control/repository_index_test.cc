// Tests that RepositoryIndex reads elsewhere, and once for all that wait.
#include "server/control/repository_index.h"

#include <absl/synchronization/notification.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace ferry {
namespace {

using ::testing::HasSubstr;

// An index whose readings last until they are let go.
class RepositoryIndexTest : public ::testing::Test {
 protected:
  RepositoryIndex::Entries Read() {
    reader_ = std::this_thread::get_id();
    const int reading = ++readings_;
    if (reading == 1) {
      begun_.Notify();
      go_on_.WaitForNotification();
    }
    return {{.name = std::to_string(reading)}};
  }

  // What each call was answered.
  RepositoryIndex::Done Note(std::string& answer, absl::Notification& came) {
    return
        [&answer, &came](const absl::StatusOr<RepositoryIndex::Entries>& got) {
          answer = got.ok() ? got->front().name : got.status().ToString();
          came.Notify();
        };
  }

  std::atomic<int> readings_{0};
  std::thread::id reader_;
  absl::Notification begun_;
  absl::Notification go_on_;
  RepositoryIndex index_{[this] { return Read(); }};
};

TEST_F(RepositoryIndexTest, OneReadingElsewhereAnswersAllThatWaitForIt) {
  std::string first;
  std::string second;
  std::string third;
  absl::Notification came[3];
  index_.Ask(Note(first, came[0]));
  begun_.WaitForNotification();
  index_.Ask(Note(second, came[1]));  // returns while the reading lasts
  index_.Ask(Note(third, came[2]));
  EXPECT_FALSE(came[0].HasBeenNotified());
  go_on_.Notify();
  for (absl::Notification& each : came) {
    each.WaitForNotification();
  }
  EXPECT_NE(reader_, std::this_thread::get_id());
  EXPECT_EQ(first, "1");
  EXPECT_EQ(second, "2") << "what came meanwhile sees what is so now";
  EXPECT_EQ(third, "2");
  EXPECT_EQ(readings_, 2);
}

TEST_F(RepositoryIndexTest, CallsThatWaitAreBounded) {
  std::vector<std::string> answers(RepositoryIndex::kMaxWaiting + 2);
  std::vector<absl::Notification> came(answers.size());
  index_.Ask(Note(answers[0], came[0]));
  begun_.WaitForNotification();
  for (size_t i = 1; i < answers.size(); ++i) {
    index_.Ask(Note(answers[i], came[i]));
  }
  EXPECT_TRUE(came.back().HasBeenNotified());
  EXPECT_THAT(answers.back(),
              HasSubstr("RESOURCE_EXHAUSTED: expected at most 64"));
  go_on_.Notify();
  for (absl::Notification& each : came) {
    each.WaitForNotification();
  }
  EXPECT_EQ(answers[1], "2");
}

TEST_F(RepositoryIndexTest, StoppedItRefusesAndWaitsForItsReading) {
  std::string read;
  std::string waiting;
  std::string late;
  absl::Notification came[3];
  index_.Ask(Note(read, came[0]));
  begun_.WaitForNotification();
  index_.Ask(Note(waiting, came[1]));
  index_.Stop();
  EXPECT_THAT(waiting, HasSubstr("UNAVAILABLE: server is draining"));
  index_.Ask(Note(late, came[2]));
  EXPECT_THAT(late, HasSubstr("UNAVAILABLE: server is draining"));
  EXPECT_FALSE(index_.JoinBy(TimePoint())) << "a reading is under way";
  go_on_.Notify();
  EXPECT_TRUE(index_.JoinBy(kNever));
  EXPECT_EQ(read, "1");
}

}  // namespace
}  // namespace ferry
