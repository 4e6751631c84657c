// Buffers in host memory and the list of idle ones.
#include "batcher/host_output_pool.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/check.h"
#include "batcher/mutex.h"

namespace ferry {
namespace {

constexpr size_t kAlignment = 64;  // bytes: a cache line, an AVX-512 register

struct FreeBytes {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

// Memory that only grows.
struct Room {
  std::unique_ptr<std::byte, FreeBytes> bytes;
  size_t capacity = 0;

  std::byte* Reserve(size_t size) {
    if (size > capacity) {
      const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
      bytes.reset();
      capacity = 0;
      bytes.reset(
          static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
      if (bytes == nullptr) {
        throw std::bad_alloc();
      }
      capacity = rounded;
    }
    return bytes.get();
  }
};

}  // namespace

struct HostOutputPool::State {
  State(size_t its_outputs, size_t its_max_idle, int32_t its_max_shared)
      : outputs(its_outputs),
        max_idle(its_max_idle),
        max_shared(its_max_shared) {}

  const size_t outputs;
  const size_t max_idle;
  const int32_t max_shared;
  std::atomic<int32_t> lent{0};
  Mutex mutex;
  std::vector<Buffer*> idle ABSL_GUARDED_BY(mutex);
  bool pool_is_gone ABSL_GUARDED_BY(mutex) = false;
};

class HostOutputPool::Buffer final : public OutputBuffer {
 public:
  explicit Buffer(std::shared_ptr<State> state)
      : state_(std::move(state)), rooms_(state_->outputs) {
    tensors_.resize(state_->outputs);
  }

  bool crowded() const override {
    return state_->lent.load(std::memory_order_relaxed) > state_->max_shared;
  }

  // row_bytes: 0 where rows differ in size.
  void Layout(size_t output, size_t bytes, size_t row_bytes,
              absl::Span<const int64_t> row_dims) {
    OutputTensor& tensor = tensors_[output];
    tensor.row_dims.assign(row_dims.begin(), row_dims.end());
    tensor.row_bytes = row_bytes;
    tensor.row_starts.clear();
    tensor.data = rooms_[output].Reserve(bytes);
  }

 protected:
  void Recycle() override {
    const std::shared_ptr<State> state = state_;
    state->lent.fetch_sub(1, std::memory_order_relaxed);
    {
      MutexLock lock(state->mutex);
      if (!state->pool_is_gone && state->idle.size() < state->max_idle) {
        state->idle.push_back(this);
        return;
      }
    }
    delete this;
  }

 private:
  friend class HostOutputPool;
  ~Buffer() override = default;

  const std::shared_ptr<State> state_;
  std::vector<Room> rooms_;
};

HostOutputPool::HostOutputPool(size_t outputs, int32_t max_idle,
                               int32_t max_shared)
    : state_(std::make_shared<State>(outputs, static_cast<size_t>(max_idle),
                                     max_shared)) {
  MutexLock lock(state_->mutex);
  state_->idle.reserve(static_cast<size_t>(max_idle));
}

HostOutputPool::~HostOutputPool() {
  std::vector<Buffer*> idle;
  {
    MutexLock lock(state_->mutex);
    state_->pool_is_gone = true;
    idle.swap(state_->idle);
  }
  for (Buffer* buffer : idle) {
    delete buffer;
  }
}

OutputRef HostOutputPool::Take() {
  state_->lent.fetch_add(1, std::memory_order_relaxed);
  {
    MutexLock lock(state_->mutex);
    if (!state_->idle.empty()) {
      Buffer* const buffer = state_->idle.back();
      state_->idle.pop_back();
      return OutputRef(buffer);
    }
  }
  return OutputRef(new Buffer(state_));
}

void HostOutputPool::Layout(OutputBuffer& buffer, size_t output, int32_t rows,
                            DataType type, absl::Span<const int64_t> row_dims) {
  const size_t row_bytes = RowBytes(type, row_dims);
  static_cast<Buffer&>(buffer).Layout(
      output, row_bytes * static_cast<size_t>(rows), row_bytes, row_dims);
}

void HostOutputPool::LayoutBytes(OutputBuffer& buffer, size_t output,
                                 size_t bytes,
                                 absl::Span<const int64_t> row_dims) {
  static_cast<Buffer&>(buffer).Layout(output, bytes, 0, row_dims);
}

}  // namespace ferry
