// Tests what LoadModel makes of a config and flags: scheduler and instances.
#include "models/repository/model_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/models/parsed_config.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

absl::StatusOr<std::unique_ptr<ServedModel>> LoadEcho(
    const std::string& fields, const ModelOverrides& overrides = {},
    const ComputePlace& place = {}) {
  const auto config = Parse(R"(
backend: "ferry_echo"
max_batch_size: 8
input { name: "x" data_type: TYPE_INT64 dims: 1 }
output { name: "y" data_type: TYPE_INT64 dims: 1 }
)" + fields);
  if (!config.ok()) {
    return config.status();
  }
  return LoadModel(*config, overrides, {}, place);
}

TEST(ModelLoaderTest, SchedulerIsWhatTheConfigSays) {
  DeviceShare share(1);
  const auto model = LoadEcho(R"(
dynamic_batching {
  max_queue_delay_microseconds: 1500
  preferred_batch_size: 4
  preserve_ordering: true
}
instance_group { count: 3 }
parameters { key: "ferry.policy" value { string_value: "window" } }
parameters { key: "ferry.weight" value { string_value: "2" } }
)",
                              {}, {.share = &share});
  ASSERT_TRUE(model.ok()) << model.status();
  const Scheduler& scheduler = *(*model)->scheduler;
  const SchedulerOptions& options = scheduler.options();
  EXPECT_EQ(scheduler.instance_count(), 3);
  EXPECT_EQ(options.max_batch_size, 8);
  EXPECT_GT(options.max_requests_per_batch, 1);
  EXPECT_EQ(options.max_wait, Milliseconds(1.5));
  EXPECT_EQ(options.enough_rows, 4);
  EXPECT_TRUE(options.preserve_ordering);
  EXPECT_EQ(options.policy, PolicyKind::kWindow);
  EXPECT_EQ(options.weight, 2);
  EXPECT_EQ(options.device, &share);
}

TEST(ModelLoaderTest, ModelThatDoesNotBatchHasOneRequestInEach) {
  const auto model = LoadEcho("");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->scheduler->options().max_requests_per_batch, 1);
  EXPECT_TRUE((*model)->scheduler->options().splits_requests)
      << "an echo is of each row";
}

TEST(ModelLoaderTest, QueueHasTheTighterBoundOfConfigAndFlags) {
  const std::string fields = R"(
dynamic_batching { default_queue_policy { max_queue_size: 5 } }
)";
  ModelOverrides overrides;
  overrides.queue_bytes = 4096;
  for (const int32_t flag : {4, 6}) {
    overrides.queue_requests = flag;
    const auto model = LoadEcho(fields, overrides);
    ASSERT_TRUE(model.ok()) << model.status();
    const QueueBounds& queue = (*model)->scheduler->options().queue;
    EXPECT_EQ(queue.requests, std::min(flag, 5));
    EXPECT_EQ(queue.bytes, 4096);
  }
}

// More instances than one deliver then, each on a thread of its own.
TEST(ModelLoaderTest, RepliesOfSeveralInstancesKeepTheOrder) {
  constexpr int64_t kRequests = 200;
  Mutex mutex;
  std::vector<int64_t> answered;
  std::deque<TestRequest> requests;
  const auto model = LoadEcho(R"(
dynamic_batching { preserve_ordering: true }
instance_group { count: 2 }
)");
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<int64_t> submitted;
  for (int64_t id = 0; id < kRequests; ++id) {
    TestRequest& request = requests.emplace_back(TestRequestOptions{.id = id});
    request.completion().on_respond = [&, id] {
      MutexLock lock(mutex);
      answered.push_back(id);
    };
    submitted.push_back(id);
    ASSERT_TRUE((*model)->scheduler->Submit(request.request()).ok());
  }
  EXPECT_TRUE((*model)->scheduler->Drain(kNever).ok());
  for (TestRequest& request : requests) {
    EXPECT_TRUE(request.HasOwnRows());
  }
  MutexLock lock(mutex);
  EXPECT_EQ(answered, submitted);
}

}  // namespace
}  // namespace ferry
