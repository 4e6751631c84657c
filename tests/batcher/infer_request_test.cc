// InferRequest: the holds that decide when its memory is the owner's again.
#include "batcher/infer_request.h"

#include <gtest/gtest.h>

#include "tests/support/counting_completion.h"

namespace ferry {
namespace {

constexpr Outcome kError = {absl::StatusCode::kInternal, "an error"};

TEST(InferRequest, NoHoldIsTakenBeforeTheFirst) {
  InferRequest request;
  EXPECT_FALSE(request.TryHold());
}

TEST(InferRequest, EndReleasesWhenNobodyElseHolds) {
  CountingCompletion completion;
  InferRequest request;
  request.completion = &completion;
  request.TakeFirstHolds();
  request.GiveBackHold();  // that of Submit()
  request.End(Ending{kError, {}});
  EXPECT_EQ(completion.respond_count(), 1);
  EXPECT_EQ(completion.released_count(), 1);
  EXPECT_FALSE(request.TryHold());
}

TEST(InferRequest, SecondHoldDelaysTheRelease) {
  CountingCompletion completion;
  InferRequest request;
  request.completion = &completion;
  request.TakeFirstHolds();
  request.GiveBackHold();  // that of Submit()
  ASSERT_TRUE(request.TryHold());
  request.End(Ending{kError, {}});
  EXPECT_EQ(completion.released_count(), 0);
  request.GiveBackHold();
  EXPECT_EQ(completion.released_count(), 1);
}

TEST(InferRequest, HoldTakenInsideRespondDelaysTheRelease) {
  CountingCompletion completion;
  InferRequest request;
  request.completion = &completion;
  bool was_held = false;
  completion.on_respond = [&] { was_held = request.TryHold(); };
  request.TakeFirstHolds();
  request.GiveBackHold();  // that of Submit()
  request.End(Ending{kError, {}});
  EXPECT_TRUE(was_held);
  EXPECT_EQ(completion.released_count(), 0);
  request.GiveBackHold();
  EXPECT_EQ(completion.released_count(), 1);
}

TEST(InferRequest, ResetClearsTheCancelFlag) {
  InferRequest request;
  request.cancelled = true;
  request.Reset();
  EXPECT_FALSE(request.cancelled);
}

}  // namespace
}  // namespace ferry
