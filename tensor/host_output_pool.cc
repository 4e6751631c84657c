// Implements HostOutputPool: buffers in host memory, and a list of idle ones.
#include "tensor/host_output_pool.h"

#include <atomic>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace ferry {

struct HostOutputPool::State {
  State(size_t its_outputs, size_t its_max_idle, int32_t its_max_shared,
        std::shared_ptr<HostMemory> its_memory)
      : outputs(its_outputs),
        max_idle(its_max_idle),
        max_shared(its_max_shared),
        memory(std::move(its_memory)) {}

  const size_t outputs;
  const size_t max_idle;
  const int32_t max_shared;
  const std::shared_ptr<HostMemory> memory;
  std::atomic<int32_t> in_use{0};
  Mutex mutex;
  std::vector<Buffer*> idle ABSL_GUARDED_BY(mutex);
  size_t idle_bytes ABSL_GUARDED_BY(mutex) = 0;
  bool pool_is_gone ABSL_GUARDED_BY(mutex) = false;
};

class HostOutputPool::Buffer final : public OutputBuffer {
 public:
  explicit Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {
    tensors_.resize(state_->outputs);
    rooms_.reserve(state_->outputs);
    for (size_t i = 0; i < state_->outputs; ++i) {
      rooms_.emplace_back(*state_->memory);
    }
  }

  bool crowded() const override {
    return state_->in_use.load(std::memory_order_relaxed) > state_->max_shared;
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
    state->in_use.fetch_sub(1, std::memory_order_relaxed);
    {
      MutexLock lock(state->mutex);
      const size_t bytes = state->idle_bytes + capacity();
      if (!state->pool_is_gone && state->idle.size() < state->max_idle &&
          bytes <= state->memory->max_idle_bytes()) {
        state->idle.push_back(this);
        state->idle_bytes = bytes;
        return;
      }
    }
    delete this;
  }

 private:
  friend class HostOutputPool;
  ~Buffer() override = default;

  size_t capacity() const {
    size_t bytes = 0;
    for (const HostRoom& room : rooms_) {
      bytes += room.capacity();
    }
    return bytes;
  }

  const std::shared_ptr<State> state_;  // goes after the rooms
  std::vector<HostRoom> rooms_;
};

HostOutputPool::HostOutputPool(size_t outputs, int32_t max_idle,
                               int32_t max_shared,
                               std::shared_ptr<HostMemory> memory)
    : state_(std::make_shared<State>(outputs, static_cast<size_t>(max_idle),
                                     max_shared, std::move(memory))) {
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
  state_->in_use.fetch_add(1, std::memory_order_relaxed);
  {
    MutexLock lock(state_->mutex);
    if (!state_->idle.empty()) {
      Buffer* const buffer = state_->idle.back();
      state_->idle.pop_back();
      state_->idle_bytes -= buffer->capacity();
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
