// Measures what it costs to bring a batch's rows to a CUDA device: gathered
// into pinned memory and copied at once, as Ferry does; or each copied from
// where it lies, which must be pinned memory then, in as many calls or in one.
//
// Each iteration waits for its copies: its time is from the first row touched
// to the last byte on the device. `host_us` of it is what the calling thread
// worked before it could have gone on. gRPC receives into memory that is not
// pinned: what the other two would need is left out of them.
//
// Built with FERRY_CUDA; without a device each benchmark ends with an error.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "batcher/row_gather.h"
#include "benchmark/benchmark.h"
#include "tests/gpu/row_batch.h"

namespace ferry::bench {
namespace {

void CheckCuda(cudaError_t error) {
  Check(error == cudaSuccess, cudaGetErrorString(error));
}

struct FreePinned {
  void operator()(void* data) const { cudaFreeHost(data); }
};
struct FreeOnDevice {
  void operator()(void* data) const { cudaFree(data); }
};
using Pinned = std::unique_ptr<std::byte, FreePinned>;
using OnDevice = std::unique_ptr<std::byte, FreeOnDevice>;

Pinned MakePinned(size_t bytes) {
  void* data = nullptr;
  CheckCuda(cudaMallocHost(&data, bytes));
  return Pinned(static_cast<std::byte*>(data));
}

OnDevice MakeOnDevice(size_t bytes) {
  void* data = nullptr;
  CheckCuda(cudaMalloc(&data, bytes));
  return OnDevice(static_cast<std::byte*>(data));
}

// A batch as received, the same rows in pinned memory, each on its own, and
// where they go.
class CopyIn {
 public:
  explicit CopyIn(const RowBatchOptions& options)
      : rows_(options),
        expected_(rows_.Expected()),
        place_(MakePinned(expected_.size())),
        on_device_(MakeOnDevice(expected_.size())) {
    CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const size_t row_bytes = expected_.size() / rows_.requests();
    for (size_t row = 0; row < rows_.requests(); ++row) {
      pinned_rows_.push_back(MakePinned(row_bytes));
      std::memcpy(pinned_rows_.back().get(), expected_.data() + row * row_bytes,
                  row_bytes);
      from_.push_back(pinned_rows_.back().get());
      to_.push_back(on_device_.get() + row * row_bytes);
      sizes_.push_back(row_bytes);
    }
  }
  CopyIn(const CopyIn&) = delete;
  CopyIn& operator=(const CopyIn&) = delete;
  ~CopyIn() { cudaStreamDestroy(stream_); }

  void Gathered() {
    GatherRows(rows_.batch(), 0, place_.get());
    CheckCuda(cudaMemcpyAsync(on_device_.get(), place_.get(), expected_.size(),
                              cudaMemcpyHostToDevice, stream_));
  }

  void RowByRow() {
    for (size_t row = 0; row < from_.size(); ++row) {
      CheckCuda(cudaMemcpyAsync(to_[row], from_[row], sizes_[row],
                                cudaMemcpyHostToDevice, stream_));
    }
  }

  void InOneCall() {
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0;  // of those that the attributes are of
    CheckCuda(cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(),
                                   from_.size(), &attributes, &first, 1,
                                   stream_));
  }

  void Wait() { CheckCuda(cudaStreamSynchronize(stream_)); }

  bool IsThere() const {
    std::string there(expected_.size(), '\0');
    CheckCuda(cudaMemcpy(there.data(), on_device_.get(), there.size(),
                         cudaMemcpyDeviceToHost));
    return there == expected_;
  }

  size_t bytes() const { return expected_.size(); }

 private:
  const RowBatch rows_;
  const std::string expected_;
  const Pinned place_;
  const OnDevice on_device_;
  std::vector<Pinned> pinned_rows_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::vector<size_t> sizes_;
  cudaStream_t stream_ = nullptr;
};

void BM_CopyIn(benchmark::State& state, void (CopyIn::*copy)(),
               const RowBatchOptions& options) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    state.SkipWithError("no CUDA device");
    return;
  }
  CopyIn batch(options);
  (batch.*copy)();
  batch.Wait();
  Check(batch.IsThere(), "the rows are on the device, in order");
  using Clock = std::chrono::steady_clock;
  Clock::duration host{};
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    (batch.*copy)();
    host += Clock::now() - begin;
    batch.Wait();
  }
  state.counters["host_us"] = benchmark::Counter(
      std::chrono::duration<double, std::micro>(host).count(),
      benchmark::Counter::kAvgIterations);
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(batch.bytes()));
}

constexpr RowBatchOptions kSmallRows = {.requests = 32, .row_bytes = 1024};
constexpr RowBatchOptions kImages = {
    .requests = 8, .row_bytes = 602'112, .piece_bytes = 16384};

BENCHMARK_CAPTURE(BM_CopyIn, gathered, &CopyIn::Gathered, kSmallRows)
    ->Name("copy_in_32_rows_of_1_KiB/gathered")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_CopyIn, row_by_row, &CopyIn::RowByRow, kSmallRows)
    ->Name("copy_in_32_rows_of_1_KiB/row_by_row")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_CopyIn, in_one_call, &CopyIn::InOneCall, kSmallRows)
    ->Name("copy_in_32_rows_of_1_KiB/in_one_call")
    ->UseRealTime();

BENCHMARK_CAPTURE(BM_CopyIn, gathered_images, &CopyIn::Gathered, kImages)
    ->Name("copy_in_8_images/gathered")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_CopyIn, images_row_by_row, &CopyIn::RowByRow, kImages)
    ->Name("copy_in_8_images/row_by_row")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_CopyIn, images_in_one_call, &CopyIn::InOneCall, kImages)
    ->Name("copy_in_8_images/in_one_call")
    ->UseRealTime();

}  // namespace
}  // namespace ferry::bench

BENCHMARK_MAIN();
