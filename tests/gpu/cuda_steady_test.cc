// A backend on a device, from Start() to Finished(): once it is warm, neither
// the device's memory nor pinned memory is allocated.
#include <c10/cuda/CUDACachingAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "batcher/host_memory.h"
#include "batcher/stream_backend.h"
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
  void Free(std::byte* bytes) override { memory_->Free(bytes); }

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

  const std::shared_ptr<CountedMemory> memory =
      std::make_shared<CountedMemory>(TheDevice().host_memory());
};

// As a batcher, but that nobody is told of the end.
class Ends final : public BackendEvents {
 public:
  void Staged(Batch&) override {}
  void ComputeEnded(Batch&) override {}
  void SlotFree() override { slots.release(); }
  void Finished(std::unique_ptr<Batch> batch) override {
    succeeded += batch->succeeded() ? 1 : 0;
    finished.release();
  }
  TimePoint LaneAwake() override { return kNever; }
  void LaneBusy() override {}
  void Broken(Outcome why) override { ADD_FAILURE() << why.text; }

  std::counting_semaphore<> slots{0};
  std::counting_semaphore<> finished{0};
  std::atomic<int> succeeded{0};
};

class CudaSteadyTest : public CudaNetworkTest {
 protected:
  // So many batches of 1 to 8 rows, with as many in flight as may be. Each
  // stays until all have ended.
  static void Play(Backend& backend, Ends& ends, int count) {
    std::vector<std::unique_ptr<DifferentRows>> rows;
    for (int i = 0; i < count; ++i) {
      rows.push_back(std::make_unique<DifferentRows>(
          backend.spec(), 1 + i % kMostRows, static_cast<uint32_t>(i)));
    }
    for (const auto& one : rows) {
      ends.slots.acquire();
      backend.Start(one->TakeBatch(), ends);
    }
    for (int i = 0; i < count; ++i) {
      ends.finished.acquire();
    }
  }
};

TEST_P(CudaSteadyTest, AllocatesNothing) {
  CountedDevice device;
  Ends ends;
  auto created = StreamBackend::Create(Load(options_, device), {});
  ASSERT_TRUE(created.ok()) << created.status();
  StreamBackend& backend = **created;
  ends.slots.release(backend.slots());
  constexpr int kFirst = 16;  // threads and pools come to be
  constexpr int kBatches = 40;
  Play(backend, ends, kFirst);

  using c10::cuda::CUDACachingAllocator::getDeviceStats;
  const auto before = getDeviceStats(0);
  const int64_t pinned = device.memory->allocations;
  ASSERT_GT(before.num_device_alloc, 0);
  ASSERT_GT(pinned, 0);
  Play(backend, ends, kBatches);
  const auto after = getDeviceStats(0);
  EXPECT_EQ(ends.succeeded, kFirst + kBatches);
  // From the device, and from LibTorch's pool of its memory.
  EXPECT_EQ(after.num_device_alloc, before.num_device_alloc);
  EXPECT_EQ(after.num_device_free, before.num_device_free);
  EXPECT_EQ(after.num_alloc_retries, before.num_alloc_retries);
  EXPECT_EQ(after.allocation[0].allocated, before.allocation[0].allocated);
  EXPECT_EQ(device.memory->allocations, pinned);
  EXPECT_EQ(Count(backend, "graph_launched"), kFirst + kBatches);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaSteadyTest,
                         ::testing::ValuesIn(kNetworkCases),
                         [](const auto& one) {
                           return std::string(one.param.network);
                         });

}  // namespace
}  // namespace ferry
