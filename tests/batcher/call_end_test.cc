// Tests that every order of events answers a call once (G1): each sequence of
// submit, cancel, time, pulls and steps of the instance, up to a length, is
// played.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using absl::StatusCode;

// What one letter of a sequence does.
//   S  submits the request       C  cancels it
//   T  instance and timer pull   B  one step of the oldest batch
//   X  time passes its deadline  D  the scheduler begins to drain
constexpr char kActions[] = "SCTBXD";

enum class InRespond { kNothing, kCancel };
enum class AtEnd { kSettle, kDestroy };

struct Ways {
  InRespond in_respond = InRespond::kNothing;
  AtEnd at_end = AtEnd::kSettle;
  size_t max_length = 5;  // of a sequence
};

class Play {
 public:
  explicit Play(const Ways& ways) : ways_(ways) {
    request_.request().deadline = stepped_.clock().Now() + Milliseconds(1);
    if (ways.in_respond == InRespond::kCancel) {
      request_.completion().on_respond = [this] { stepped_.Cancel(request_); };
    }
  }

  // Plays the sequence, then lets all end.
  void Run(const std::string& sequence) {
    for (char action : sequence) {
      Do(action);
      EXPECT_LE(request_.completion().respond_count(), 1);
    }
    if (ways_.at_end == AtEnd::kSettle) {
      stepped_.Settle();
      EXPECT_TRUE(stepped_.scheduler().IsIdle());
      is_started_ = stepped_.instances().started_count() > 0;
    } else {
      is_started_ = stepped_.instances().started_count() > 0;
      stepped_.Destroy();
    }
    EXPECT_EQ(request_.completion().respond_count(), is_accepted_ ? 1 : 0);
    if (is_accepted_) {
      ExpectLegalOutcome();
    }
  }

 private:
  void Do(char action) {
    switch (action) {
      case 'S':
        is_accepted_ = stepped_.TrySubmit(request_).ok();
        break;
      case 'C':
        was_started_before_cancel_ =
            was_started_before_cancel_ ||
            (!is_cancelled_ && stepped_.instances().started_count() > 0);
        is_cancelled_ = true;
        stepped_.Cancel(request_);
        break;
      case 'T':
        stepped_.Step();
        break;
      case 'B':
        if (stepped_.instances().running_count() > 0) {
          stepped_.instances().Advance(0);
        }
        break;
      case 'X':
        is_expired_ = true;
        stepped_.clock().Advance(Milliseconds(1));
        break;
      case 'D':
        stepped_.scheduler().BeginDrain();
        break;
    }
  }

  void ExpectLegalOutcome() {
    const StatusCode code = request_.code();
    if (is_started_) {
      EXPECT_EQ(code, StatusCode::kOk);
      EXPECT_TRUE(request_.HasOwnRows());
      EXPECT_TRUE(!is_cancelled_ || was_started_before_cancel_)
          << "cancelled before it was started, and started all the same";
    } else if (code == StatusCode::kCancelled) {
      EXPECT_TRUE(is_cancelled_);
    } else if (code == StatusCode::kDeadlineExceeded) {
      EXPECT_TRUE(is_expired_);
    } else {
      EXPECT_EQ(code, StatusCode::kUnavailable);
      EXPECT_EQ(ways_.at_end, AtEnd::kDestroy);
    }
  }

  const Ways ways_;
  TestRequest request_;
  SteppedScheduler stepped_{
      {.scheduler = {.max_batch_size = 2, .max_undelivered_batches = 1}}};
  bool is_started_ = false;
  bool is_accepted_ = false;
  bool is_cancelled_ = false;
  bool was_started_before_cancel_ = false;
  bool is_expired_ = false;
};

// Plays every sequence that begins with `prefix` and holds one submit.
int PlayAll(const Ways& ways, const std::string& prefix) {
  SCOPED_TRACE(prefix);
  int played = 0;
  if (prefix.find('S') != std::string::npos) {
    Play(ways).Run(prefix);
    ++played;
  }
  if (prefix.size() == ways.max_length || ::testing::Test::HasFailure()) {
    return played;
  }
  for (const char* action = kActions; *action != '\0'; ++action) {
    if (*action == 'S' && prefix.find('S') != std::string::npos) {
      continue;
    }
    played += PlayAll(ways, prefix + *action);
  }
  return played;
}

TEST(CallEnd, EverySequenceEndsTheCallOnce) {
  EXPECT_GT(PlayAll({.max_length = 6}, ""), 20000);
}

TEST(CallEnd, EverySequenceWithACancelInRespondEndsTheCallOnce) {
  EXPECT_GT(PlayAll({.in_respond = InRespond::kCancel}, ""), 3000);
}

TEST(CallEnd, EverySequenceBeforeDestructionEndsTheCallOnce) {
  EXPECT_GT(PlayAll({.at_end = AtEnd::kDestroy}, ""), 3000);
}

TEST(CallEnd, DestructionWithACancelInRespondEndsTheCallOnce) {
  EXPECT_GT(PlayAll({InRespond::kCancel, AtEnd::kDestroy}, ""), 3000);
}

}  // namespace
}  // namespace ferry
