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

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "batcher/batch.h"
#include "batcher/row_gather.h"
#include "benchmark/benchmark.h"

namespace ferry {
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

struct RowBatchOptions {
  size_t requests;
  size_t row_bytes;
  size_t piece_bytes = 4096;  // at most
};

// Batch of requests of one row each, whose bytes lie in pieces, as received.
class RowBatch {
 public:
  // Byte i of request r is r * 7 + i * 13, modulo 256.
  explicit RowBatch(const RowBatchOptions& options)
      : rows_(options.requests),
        batch_(static_cast<int32_t>(options.requests),
               static_cast<int32_t>(options.requests)) {
    for (size_t r = 0; r < options.requests; ++r) {
      rows_[r].Fill(options, r);
      batch_.Add(rows_[r].request);
    }
  }

  const Batch& batch() const { return batch_; }

  // The bytes of all rows, one after the other.
  std::string Expected() const {
    std::string expected;
    for (const Row& row : rows_) {
      for (const ByteSegment& segment : row.segments) {
        expected.append(reinterpret_cast<const char*>(segment.data),
                        segment.size);
      }
    }
    return expected;
  }

 private:
  struct Row {
    void Fill(const RowBatchOptions& options, size_t number) {
      for (size_t at = 0; at < options.row_bytes; at += options.piece_bytes) {
        const size_t size =
            std::min(options.piece_bytes, options.row_bytes - at);
        pieces.push_back(std::make_unique<std::byte[]>(size));
        for (size_t i = 0; i < size; ++i) {
          pieces.back()[i] =
              static_cast<std::byte>((number * 7 + (at + i) * 13) & 0xFF);
        }
        segments.push_back({pieces.back().get(), size});
      }
      dims = {static_cast<int64_t>(options.row_bytes / sizeof(float))};
      view[0] = {.dims = dims, .segments = segments};
      request.inputs = view;
    }

    std::vector<std::unique_ptr<std::byte[]>> pieces;
    std::vector<ByteSegment> segments;
    std::array<int64_t, 1> dims{};
    std::array<TensorView, 1> view;
    InferRequest request;
  };

  std::vector<Row> rows_;  // in place once made
  Batch batch_;
};

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
    for (size_t at = 0; at < expected_.size(); at += options.row_bytes) {
      pinned_rows_.push_back(MakePinned(options.row_bytes));
      std::memcpy(pinned_rows_.back().get(), expected_.data() + at,
                  options.row_bytes);
      from_.push_back(pinned_rows_.back().get());
      to_.push_back(on_device_.get() + at);
      sizes_.push_back(options.row_bytes);
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
}  // namespace ferry

BENCHMARK_MAIN();
