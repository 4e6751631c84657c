// Tests that InferRequest knows when its result is of no use.
#include "batcher/infer_request.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(InferRequest, IsOfNoUseOnceCancelledUntilItIsReset) {
  InferRequest request;
  EXPECT_FALSE(request.IsCancelled());
  request.cancelled = true;
  EXPECT_TRUE(request.IsCancelled());
  request.Reset();
  EXPECT_FALSE(request.IsCancelled());
}

}  // namespace
}  // namespace ferry
