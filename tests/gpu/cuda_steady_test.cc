// Tests that a warm model on a device, behind its scheduler from Submit() to
// Respond(), allocates neither the device's memory nor pinned memory.
#include <c10/cuda/CUDACachingAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "batcher/device_instance.h"
#include "batcher/scheduler.h"
#include "tensor/host_memory.h"
#include "tests/gpu/cuda_test.h"

namespace ferry {
namespace {

class CountedMemory final : public HostMemory {
 public:
  explicit CountedMemory(std::shared_ptr<HostMemory> memory)
      : memory_(std::move(memory)) {}

  std::byte* Allocate(size_t bytes) override {
    ++allocations;
    return memory_->Allocate(bytes);
  }
  void Free(std::byte* bytes, size_t size) override {
    memory_->Free(bytes, size);
  }

  std::atomic<int64_t> allocations{0};

 private:
  const std::shared_ptr<HostMemory> memory_;
};

// The device, with memory of the host that is counted.
class CountedDevice final : public DeviceRuntime {
 public:
  at::Device device() const override { return TheDevice().device(); }
  std::string architecture() const override {
    return TheDevice().architecture();
  }
  std::shared_ptr<HostMemory> host_memory() override { return memory; }
  std::unique_ptr<DeviceStreams> MakeStreams() override {
    return TheDevice().MakeStreams();
  }
  bool IsLost() override { return TheDevice().IsLost(); }
  void FreeKept() override { TheDevice().FreeKept(); }
  bool TakeOutOfMemory() override { return TheDevice().TakeOutOfMemory(); }
  void BeginWarmUp() override { TheDevice().BeginWarmUp(); }
  void EndWarmUp() override { TheDevice().EndWarmUp(); }

  const std::shared_ptr<CountedMemory> memory =
      std::make_shared<CountedMemory>(TheDevice().host_memory());
};

// Counts the answers of requests.
class Answers final : public Completion {
 public:
  void Respond(const RequestResult& result) override {
    succeeded += result.outcome.ok() ? 1 : 0;
    answered.release();
  }

  std::counting_semaphore<> answered{0};
  std::atomic<int> succeeded{0};
};

// A request of so many rows, all of ones.
struct Ones {
  Ones(const ModelSpec& spec, int32_t rows, Completion& completion) {
    for (const TensorSpec& input : spec.inputs) {
      std::vector<int64_t> dims = input.dims;
      dims.insert(dims.begin(), rows);
      values.push_back(at::ones(
          dims, input.type == DataType::kInt64 ? at::kLong : at::kFloat));
      segments.push_back(
          {static_cast<const std::byte*>(values.back().const_data_ptr()),
           values.back().nbytes()});
      request.bytes += values.back().nbytes();
    }
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      views.push_back(
          {.dims = spec.inputs[i].dims, .segments = {&segments[i], 1}});
    }
    request.inputs = views;
    request.rows = rows;
    request.completion = &completion;
  }

  std::vector<at::Tensor> values;
  std::vector<ferry::ByteSegment> segments;
  std::vector<TensorView> views;
  InferRequest request;
};

class CudaSteadyTest : public CudaNetworkTest {
 protected:
  // Each request is a batch of its own.
  static std::unique_ptr<Scheduler> Serve(std::unique_ptr<DeviceModel> model,
                                          const ModelOptions& options) {
    auto instance = DeviceInstance::Create(std::move(model));
    TORCH_CHECK(instance.ok(), std::string(instance.status().message()));
    std::vector<std::unique_ptr<Instance>> instances;
    instances.push_back(*std::move(instance));
    SchedulerOptions scheduler_options;
    scheduler_options.max_batch_size = kMostRows;
    scheduler_options.max_requests_per_batch = 1;
    scheduler_options.buckets = options.buckets;
    auto scheduler = Scheduler::Create(std::move(instances), scheduler_options);
    TORCH_CHECK(scheduler.ok(), std::string(scheduler.status().message()));
    return *std::move(scheduler);
  }

  // So many batches of 1 to 8 rows, with as many in flight as may be. Returns
  // when all are answered.
  static void Play(Scheduler& scheduler, Answers& answers, int count) {
    std::vector<std::unique_ptr<Ones>> requests;
    for (int i = 0; i < count; ++i) {
      requests.push_back(
          std::make_unique<Ones>(scheduler.spec(), 1 + i % kMostRows, answers));
    }
    int accepted = 0;
    for (const auto& one : requests) {
      const absl::Status status = scheduler.Submit(one->request);
      EXPECT_TRUE(status.ok()) << status;
      accepted += status.ok() ? 1 : 0;
    }
    for (int i = 0; i < accepted; ++i) {
      answers.answered.acquire();
    }
  }
};

TEST_P(CudaSteadyTest, AllocatesNothing) {
  CountedDevice device;
  Answers answers;
  const auto scheduler = Serve(Load(options_, device), options_);
  constexpr int kFirst = 16;  // threads and pools come to be
  constexpr int kBatches = 40;
  Play(*scheduler, answers, kFirst);

  using c10::cuda::CUDACachingAllocator::getDeviceStats;
  const auto before = getDeviceStats(0);
  const int64_t pinned = device.memory->allocations;
  ASSERT_GT(before.num_device_alloc, 0);
  ASSERT_GT(pinned, 0);
  Play(*scheduler, answers, kBatches);
  const auto after = getDeviceStats(0);
  EXPECT_EQ(answers.succeeded, kFirst + kBatches);
  // From the device, and from LibTorch's pool of its memory.
  EXPECT_EQ(after.num_device_alloc, before.num_device_alloc);
  EXPECT_EQ(after.num_device_free, before.num_device_free);
  EXPECT_EQ(after.num_alloc_retries, before.num_alloc_retries);
  EXPECT_EQ(after.allocation[0].allocated, before.allocation[0].allocated);
  EXPECT_EQ(device.memory->allocations, pinned);
  EXPECT_EQ(Count(scheduler->device_counts(), "graph_launched"),
            kFirst + kBatches);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaSteadyTest,
                         ::testing::ValuesIn(kNetworkCases),
                         [](const auto& one) {
                           return std::string(one.param.network);
                         });

}  // namespace
}  // namespace ferry
