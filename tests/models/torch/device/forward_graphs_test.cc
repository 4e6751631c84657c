// Tests when ForwardGraphs records a forward, and when not.
#include "models/torch/device/forward_graphs.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/torch/device/host_runtime.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CountingNetwork final : public Network {
 public:
  absl::Status Forward(const Values& inputs, Values& outputs) override {
    ++forwards;
    if (!error.ok()) {
      return std::exchange(error, absl::OkStatus());
    }
    TORCH_CHECK_WITH(OutOfMemoryError, forwards != throws_at, "no memory");
    at::Tensor input = inputs[0].toTensor();
    outputs.emplace_back(make(input));
    if (writes) {
      input.add_(1);
    }
    return absl::OkStatus();
  }

  int forwards = 0;
  int throws_at = 0;    // the number of the forward
  bool writes = false;  // to what it is given
  std::function<at::Tensor(at::Tensor)> make = [](const at::Tensor& input) {
    return input * 2;
  };
  absl::Status error;  // of the next one
};

class ForwardGraphsTest : public ::testing::Test {
 protected:
  void Forward(ForwardGraphs& graphs, const at::Tensor& input, int times = 1) {
    for (int i = 0; i < times; ++i) {
      streams_.Run(DeviceStream::kCompute, [&] {
        Values outputs;
        ASSERT_TRUE(graphs.Forward({input}, outputs).ok());
        ASSERT_EQ(outputs.size(), 1);
        EXPECT_TRUE(outputs[0].toTensor().equal(input * 2));
      });
    }
    const auto passed = streams_.MakeEvent();
    passed->Record(DeviceStream::kCompute);
    passed->Await();
  }

  const c10::InferenceMode no_gradients_;  // as a model has it
  HostStreamsState state_;
  HostStreams streams_{state_};
  CountingNetwork network_;
  const at::Tensor one_ = at::ones({1, 2});
  const at::Tensor two_ = at::ones({2, 2});
};

TEST_F(ForwardGraphsTest, IsRecordedAfterSomeRunsAndLaunchedFromThenOn) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns);
  EXPECT_EQ(state_.launches, 0);
  Forward(graphs, one_);
  EXPECT_EQ(state_.launches, 2) << "one of them to prove it";
  EXPECT_EQ(graphs.EndWarmUp(), "");
  Forward(graphs, one_, 10);
  EXPECT_EQ(state_.launches, 12);
  EXPECT_EQ(graphs.counts().launched, 10);
  EXPECT_EQ(graphs.size(), 1);
}

TEST_F(ForwardGraphsTest, OtherSizesAndOtherMemoryRunEagerlyAfterWarmUp) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns + 1);
  graphs.EndWarmUp();
  const int launches = state_.launches;
  Forward(graphs, two_, 10);
  Forward(graphs, at::ones({1, 2}), 10);
  EXPECT_EQ(state_.launches, launches);
  EXPECT_EQ(graphs.counts().other_sizes, 20);
}

TEST_F(ForwardGraphsTest, WhatCannotBeRecordedRunsEagerlyAndSaysWhy) {
  ForwardGraphs graphs(network_, streams_, true);
  state_.why_no_graphs = "it waits";
  Forward(graphs, one_, ForwardGraphs::kEagerRuns + 1);
  EXPECT_EQ(graphs.EndWarmUp(), "it waits");
  const int before = network_.forwards;
  Forward(graphs, one_, 5);
  EXPECT_EQ(network_.forwards, before + 5);
  EXPECT_EQ(graphs.counts().not_recorded, 5);
}

TEST_F(ForwardGraphsTest, AForwardThatFailsWhileItIsRecordedRunsEagerly) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns);
  network_.error = absl::InternalError("its code failed");
  Forward(graphs, one_, 2);
  EXPECT_EQ(state_.launches, 0);
  EXPECT_EQ(graphs.EndWarmUp(), "its code failed");
}

TEST_F(ForwardGraphsTest, AGraphThatGivesOtherValuesIsNotUsed) {
  ForwardGraphs graphs(network_, streams_, true);
  state_.is_next_launch_wrong = true;
  Forward(graphs, one_, ForwardGraphs::kEagerRuns + 1);
  EXPECT_EQ(graphs.size(), 0);
  EXPECT_THAT(graphs.EndWarmUp(),
              HasSubstr("other values than the network, off by 0.5"));
}

TEST_F(ForwardGraphsTest, AGraphOfANetworkThatWritesToItsInputIsProven) {
  ForwardGraphs graphs(network_, streams_, true);
  network_.writes = true;
  const at::Tensor input = at::zeros({1, 2});
  for (int i = 0; i < ForwardGraphs::kEagerRuns + 1; ++i) {
    streams_.Run(DeviceStream::kCompute, [&] {
      Values outputs;
      input.fill_(7);
      ASSERT_TRUE(graphs.Forward({input}, outputs).ok());
      EXPECT_TRUE(outputs[0].toTensor().eq(14).all().item<bool>());
    });
  }
  EXPECT_EQ(graphs.size(), 1);
  EXPECT_EQ(graphs.EndWarmUp(), "");
}

// Elements that stand twice, and a type without arithmetic.
TEST_F(ForwardGraphsTest, AGraphOfAnyOutputIsProven) {
  for (const auto& make : std::vector<std::function<at::Tensor(at::Tensor)>>{
           [](const at::Tensor& x) {
             return x.sum().expand({4, 2});
           },
           [](const at::Tensor& x) { return x.to(at::kUInt16); },
           [](const at::Tensor& x) { return x.gt(0); }}) {
    network_.make = make;
    ForwardGraphs graphs(network_, streams_, true);
    for (int i = 0; i < ForwardGraphs::kEagerRuns + 1; ++i) {
      streams_.Run(DeviceStream::kCompute, [&] {
        Values outputs;
        ASSERT_TRUE(graphs.Forward({one_}, outputs).ok());
      });
    }
    EXPECT_EQ(graphs.EndWarmUp(), "");
    EXPECT_EQ(graphs.size(), 1);
  }
}

TEST_F(ForwardGraphsTest, WhatThrowsWhileItIsRecordedOrComparedRunsEagerly) {
  for (const int forward : {1, 2}) {  // recorded, and to compare with
    ForwardGraphs graphs(network_, streams_, true);
    Forward(graphs, one_, ForwardGraphs::kEagerRuns);
    network_.throws_at = network_.forwards + forward;
    Forward(graphs, one_);
    EXPECT_EQ(graphs.size(), 0);
    EXPECT_THAT(graphs.EndWarmUp(), HasSubstr("no memory"));
  }
}

TEST_F(ForwardGraphsTest, WhatAGraphGaveIsGoneWhenAnotherIsLaunched) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns + 1);
  Forward(graphs, two_, ForwardGraphs::kEagerRuns + 1);
  ASSERT_EQ(graphs.size(), 2);
  streams_.Run(DeviceStream::kCompute, [&] {
    Values first;
    Values second;
    ASSERT_TRUE(graphs.Forward({one_}, first).ok());
    ASSERT_TRUE(graphs.Forward({two_}, second).ok());
    const at::Tensor to = at::empty({2});
    streams_.Cast({first[0].toTensor().data_ptr(), at::kFloat},
                  {to.data_ptr(), at::kFloat}, 2);
    EXPECT_TRUE(to.isnan().all().item<bool>());
  });
  const auto passed = streams_.MakeEvent();
  passed->Record(DeviceStream::kCompute);
  passed->Await();
  EXPECT_THAT(std::exchange(state_.faults, {}),
              ElementsAre("what a graph gave is read after another was "
                          "launched"));
}

TEST_F(ForwardGraphsTest, IsOffWhereItIsNotWanted) {
  ForwardGraphs graphs(network_, streams_, false);
  Forward(graphs, one_, 10);
  EXPECT_EQ(network_.forwards, 10);
  EXPECT_EQ(graphs.counts().off, 10);
  EXPECT_EQ(graphs.size(), 0);
}

}  // namespace
}  // namespace ferry
