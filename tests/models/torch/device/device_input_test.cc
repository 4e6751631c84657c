// Tests what a network on a device gets of the types and layouts of the wire.
#include "models/torch/device/device_input.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "models/row_requests.h"
#include "tests/models/torch/device/host_runtime.h"

namespace ferry {
namespace {

class Taker final : public Network {
 public:
  explicit Taker(bool channels_last) : channels_last_(channels_last) {}

  absl::Status Forward(const Values&, Values&) override {
    return absl::OkStatus();
  }
  bool takes_channels_last(size_t) const override { return channels_last_; }

 private:
  const bool channels_last_;
};

template <typename T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class DeviceInputTest : public ::testing::Test {
 protected:
  DeviceInputTest() {
    options_.spec = {.inputs = {{"x", DataType::kFp32, {2}}},
                     .outputs = {},
                     .max_batch_size = 4};
  }

  // What a network takes of three rows alike, those from `first` on.
  at::Tensor Take(const RowInput& row, int32_t first = 0,
                  bool channels_last = false) {
    const Taker network(channels_last);
    DeviceInput input(options_, 0, network, memory_, *streams_);
    DeviceInput::Wire wire(memory_);
    input.Reserve(wire);
    const std::vector<RowInput> rows = {row};
    const RowRequests requests(options_.spec, rows, 3);
    const auto copied = streams_->MakeEvent();
    input.CopyIn(requests.batch(), wire);
    copied->Record(DeviceStream::kCopyIn);
    copied->Block(DeviceStream::kCompute);
    at::Tensor taken;
    streams_->Run(DeviceStream::kCompute, [&] {
      const c10::IValue staged =
          input.Stage(requests.batch(),
                      {.first = first, .count = 3 - first, .padded = 4}, wire);
      if (staged.isTensor()) {
        taken = staged.toTensor().clone();  // as the forward reads it
      }
    });
    return taken;
  }

  HostRuntime runtime_;
  StagingMemory memory_{runtime_};
  const std::unique_ptr<DeviceStreams> streams_ = runtime_.MakeStreams();
  ModelOptions options_;
};

TEST_F(DeviceInputTest, FloatsBecomeThePrecisions) {
  const at::Tensor taken =
      Take({.dims = {2}, .bytes = BytesOf<float>({1, 2})}, 1);
  EXPECT_TRUE(at::equal(taken, at::tensor({1, 2, 1, 2, 0, 0, 0, 0}, at::kFloat)
                                   .view({4, 2})
                                   .to(at::kBFloat16)));
}

TEST_F(DeviceInputTest, IntegersPassUnchanged) {
  options_.spec.inputs[0].type = DataType::kInt64;
  const at::Tensor taken =
      Take({.dims = {2}, .bytes = BytesOf<int64_t>({int64_t{1} << 40, -5})});
  EXPECT_EQ(taken.scalar_type(), at::kLong);
  EXPECT_EQ(taken[2][0].item<int64_t>(), int64_t{1} << 40);
  EXPECT_EQ(taken[2][1].item<int64_t>(), -5);
}

TEST_F(DeviceInputTest, AnyByteButZeroIsTrue) {
  options_.spec.inputs[0].type = DataType::kBool;
  const at::Tensor taken =
      Take({.dims = {2}, .bytes = BytesOf<uint8_t>({0, 200})});
  EXPECT_EQ(taken.scalar_type(), at::kBool);
  EXPECT_FALSE(taken[0][0].item<bool>());
  EXPECT_TRUE(taken[0][1].item<bool>());
}

TEST_F(DeviceInputTest, WhatIsLeftOutIsNothing) {
  options_.spec.inputs[0].is_optional = true;
  EXPECT_FALSE(Take({.is_given = false, .dims = {}, .bytes = {}}).defined());
}

// A graph finds what it reads of each size that was warmed up.
TEST_F(DeviceInputTest, RowsOfEachPadStandAtTheSamePlace) {
  options_.spec.inputs[0].dims = {kAnySize};
  options_.spec.inputs[0].pads = {2, 8};
  const Taker network(false);
  DeviceInput input(options_, 0, network, memory_, *streams_);
  DeviceInput::Wire wire(memory_);
  std::vector<const void*> places;
  for (const int64_t size : {2, 8, 16, 2}) {
    const std::vector<RowInput> row = {
        {.dims = {size},
         .bytes = std::vector<std::byte>(static_cast<size_t>(size) * 4)}};
    const RowRequests requests(options_.spec, row, 4);
    input.CopyIn(requests.batch(), wire);
    streams_->Run(DeviceStream::kCompute, [&] {
      places.push_back(input
                           .Stage(requests.batch(),
                                  {.first = 0, .count = 4, .padded = 4}, wire)
                           .toTensor()
                           .const_data_ptr());
    });
  }
  EXPECT_EQ(places[1], places[0]);
  EXPECT_NE(places[2], places[0]);  // larger than the largest
  EXPECT_EQ(places[3], places[0]);
}

// One image of 2 by 1 pixels and 3 channels, of bytes; x / 2 - 1.
class DeviceImageTest : public DeviceInputTest,
                        public ::testing::WithParamInterface<bool> {
 protected:
  DeviceImageTest() {
    options_.precision = Precision::kFp32;
    options_.normalizations = {
        Normalization{.divisor = 2, .mean = {1}, .std = {1}}};
  }
};

TEST_P(DeviceImageTest, BytesAreNormalizedToWhereTheNetworkReadsThem) {
  options_.spec.inputs[0] = {"x", DataType::kUint8, {2, 1, 3}};
  options_.normalizations[0]->channels = ChannelPlace::kLast;
  const at::Tensor taken =
      Take({.dims = {2, 1, 3}, .bytes = BytesOf<uint8_t>({0, 2, 4, 6, 8, 10})},
           0, GetParam());
  ASSERT_EQ(taken.sizes(), at::IntArrayRef({4, 3, 2, 1}));
  EXPECT_TRUE(at::equal(taken[2].flatten(),
                        at::tensor({-1, 2, 0, 3, 1, 4}, at::kFloat)));
}

TEST_P(DeviceImageTest, FloatsAreLaidOutAsTheNetworkReadsThem) {
  options_.normalizations.clear();
  options_.spec.inputs[0] = {"x", DataType::kFp32, {3, 2, 1}};
  const at::Tensor taken =
      Take({.dims = {3, 2, 1}, .bytes = BytesOf<float>({1, 2, 3, 4, 5, 6})}, 0,
           GetParam());
  EXPECT_TRUE(at::equal(taken[0].flatten(),
                        at::tensor({1, 2, 3, 4, 5, 6}, at::kFloat)));
  EXPECT_TRUE(taken[3].eq(0).all().item<bool>());
}

TEST_P(DeviceImageTest, FloatsOf16BitsAreCastOnTheirWay) {
  options_.normalizations.clear();
  options_.precision = Precision::kBf16;
  options_.spec.inputs[0] = {"x", DataType::kFp16, {3, 2, 1}};
  const at::Tensor values =
      at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 1.0F / 3}).to(at::kHalf);
  const auto* const data = static_cast<std::byte*>(values.data_ptr());
  const at::Tensor taken =
      Take({.dims = {3, 2, 1}, .bytes = {data, data + values.nbytes()}}, 1,
           GetParam());
  EXPECT_TRUE(at::equal(taken[1].flatten(), values.to(at::kBFloat16)));
  EXPECT_TRUE(taken[2].eq(0).all().item<bool>());
}

// A row of the wire that is no image is one to the model.
TEST_P(DeviceImageTest, RowsAreReshapedToImages) {
  options_.normalizations.clear();
  options_.spec.inputs[0] = {"x", DataType::kFp32, {6}};
  options_.input_reshapes = {std::vector<int64_t>{3, 2, 1}};
  const at::Tensor taken =
      Take({.dims = {6}, .bytes = BytesOf<float>({1, 2, 3, 4, 5, 6})}, 0,
           GetParam());
  ASSERT_EQ(taken.sizes(), at::IntArrayRef({4, 3, 2, 1}));
  EXPECT_EQ(taken.is_contiguous(at::MemoryFormat::ChannelsLast), GetParam());
  EXPECT_TRUE(at::equal(taken[2].flatten(),
                        at::tensor({1, 2, 3, 4, 5, 6}, at::kFloat)));
}

INSTANTIATE_TEST_SUITE_P(ChannelsLast, DeviceImageTest, ::testing::Bool());

}  // namespace
}  // namespace ferry
