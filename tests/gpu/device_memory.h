// DeviceMemory holds memory of the device that goes with its owner, and
// DeviceTest skips tests without a device.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_GPU_DEVICE_MEMORY_H_
#define FERRY_TESTS_GPU_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace ferry {

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    // A device file without a driver that fits is a fault, not a lack.
    if (access("/dev/nvidiactl", F_OK) != 0) {
      GTEST_SKIP() << "no CUDA device";
    }
    ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
    ASSERT_GT(count, 0);
  }
};

template <typename T>
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T) + 1), cudaSuccess);
  }
  explicit DeviceMemory(const std::vector<T>& values)
      : DeviceMemory(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }

  void* data() const { return data_; }

  // What is there once all that was started has ended.
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  const size_t count_;
  void* data_ = nullptr;
};

}  // namespace ferry

#endif  // FERRY_TESTS_GPU_DEVICE_MEMORY_H_
