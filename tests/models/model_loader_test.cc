// LoadModel: what a config makes of the batcher.
#include "models/model_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/models/parsed_config.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

// Counts bursts.
class CountingBurst final : public ReplyBurst {
 public:
  void Begin() override { ++count_; }
  void Passed(TimePoint /*now*/) override {}
  void End() override {}
  int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

// Bursts of a full batch of two requests.
int BurstsOf(const std::string& preserve_ordering) {
  const auto config = Parse(R"(
backend: "ferry_echo"
max_batch_size: 2
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output { name: "y" data_type: TYPE_INT64 dims: 1 }
dynamic_batching {
  max_queue_delay_microseconds: 60000000
  preserve_ordering: )" + preserve_ordering +
                            R"(
}
parameters { key: "ferry.policy" value { string_value: "window" } }
)");
  EXPECT_TRUE(config.ok()) << config.status();
  CountingBurst burst;
  const auto model = LoadModel(*config, {}, {}, {.burst = &burst});
  EXPECT_TRUE(model.ok()) << model.status();
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    const absl::Status status = (*model)->batcher->Submit(request.request());
    EXPECT_TRUE(status.ok()) << status;
  }
  for (TestRequest& request : requests) {
    request.completion().WaitUntilReleased();
    EXPECT_TRUE(request.HasOwnRows());
  }
  return burst.count();
}

// Their order is that on all connections: none may wait for others on its own.
TEST(ModelLoader, RepliesInOrderAreNoBurst) {
  EXPECT_EQ(BurstsOf("false"), 1);
  EXPECT_EQ(BurstsOf("true"), 0);
}

}  // namespace
}  // namespace ferry
