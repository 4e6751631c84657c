// Tests when ForwardGraphs records a forward, and when not.
#include "models/torch/device/forward_graphs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace ferry {
namespace {

class CountingNetwork final : public Network {
 public:
  absl::Status Forward(const Values& inputs, Values& outputs) override {
    ++forwards;
    if (!error.ok()) {
      return std::exchange(error, absl::OkStatus());
    }
    outputs.push_back(inputs[0]);
    return absl::OkStatus();
  }

  int forwards = 0;
  absl::Status error;  // of the next one
};

// Records what it is given as a graph that counts its launches.
class RecordingStreams final : public DeviceStreams {
 public:
  class Graph final : public DeviceGraph {
   public:
    explicit Graph(int& launches) : launches_(launches) {}
    void Launch() override { ++launches_; }

   private:
    int& launches_;
  };

  std::unique_ptr<DeviceEvent> MakeEvent() override { return nullptr; }
  void Copy(const void*, void*, size_t, DeviceStream) override {}
  void Cast(Elements, Elements, int64_t) override {}
  void PutChannelsLast(const FirstToLast&) override {}
  void Normalize(const Normalization&, const ImageBatch&) override {}
  void Run(DeviceStream, absl::FunctionRef<void()> work) override { work(); }
  absl::StatusOr<std::unique_ptr<DeviceGraph>> Capture(
      absl::FunctionRef<void()> work) override {
    work();
    if (!error.ok()) {
      return error;
    }
    return std::make_unique<Graph>(launches);
  }

  absl::Status error;
  int launches = 0;
};

class ForwardGraphsTest : public ::testing::Test {
 protected:
  void Forward(ForwardGraphs& graphs, const at::Tensor& input, int times = 1) {
    for (int i = 0; i < times; ++i) {
      Values outputs;
      ASSERT_TRUE(graphs.Forward({input}, outputs).ok());
      ASSERT_EQ(outputs.size(), 1);
      EXPECT_TRUE(outputs[0].toTensor().is_same(input));
    }
  }

  CountingNetwork network_;
  RecordingStreams streams_;
  const at::Tensor one_ = at::zeros({1, 2});
  const at::Tensor two_ = at::zeros({2, 2});
};

TEST_F(ForwardGraphsTest, IsRecordedAfterSomeRunsAndLaunchedFromThenOn) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns);
  EXPECT_EQ(streams_.launches, 0);
  Forward(graphs, one_);
  EXPECT_EQ(network_.forwards, ForwardGraphs::kEagerRuns + 1);
  EXPECT_EQ(streams_.launches, 1);
  EXPECT_EQ(graphs.EndWarmUp(), "");
  Forward(graphs, one_, 10);
  EXPECT_EQ(network_.forwards, ForwardGraphs::kEagerRuns + 1);
  EXPECT_EQ(streams_.launches, 11);
  EXPECT_EQ(graphs.counts().launched, 10);
  EXPECT_EQ(graphs.size(), 1);
}

TEST_F(ForwardGraphsTest, OtherSizesAndOtherMemoryRunEagerlyAfterWarmUp) {
  ForwardGraphs graphs(network_, streams_, true);
  Forward(graphs, one_, ForwardGraphs::kEagerRuns + 1);
  graphs.EndWarmUp();
  Forward(graphs, two_, 10);
  Forward(graphs, at::zeros({1, 2}), 10);
  EXPECT_EQ(streams_.launches, 1);
  EXPECT_EQ(graphs.counts().other_sizes, 20);
}

TEST_F(ForwardGraphsTest, WhatCannotBeRecordedRunsEagerlyAndSaysWhy) {
  ForwardGraphs graphs(network_, streams_, true);
  streams_.error = absl::FailedPreconditionError("it waits");
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
  EXPECT_EQ(streams_.launches, 0);
  EXPECT_EQ(graphs.EndWarmUp(), "its code failed");
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
