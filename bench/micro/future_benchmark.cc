// Measures what a request in the same process costs from Submit() to its reply:
// the scheduler with InProcessClient's futures, and what one writes first, a
// deque of std::promise under a lock with one thread that answers.
//
// Alone on one thread nothing waits: there it is the instructions. With the
// threads that serve, it is two wake-ups as well.
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "batcher/cpu_instance.h"
#include "batcher/future.h"
#include "batcher/row_gather.h"
#include "batcher/scheduler.h"
#include "batcher/sim/echo_model.h"
#include "bench/micro/counted.h"
#include "tensor/host_output_pool.h"

namespace ferry::bench {
namespace {

constexpr int64_t kElements = 256;
constexpr size_t kRowBytes = kElements * sizeof(float);

ModelSpec EchoSpec() {
  return {.inputs = {{"x", DataType::kFp32, {kElements}}},
          .outputs = {{"y", DataType::kFp32, {kElements}}},
          .max_batch_size = 64};
}

// One row to send.
class Row {
 public:
  Row() {
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(i);
    }
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  InferArguments arguments() const { return {.inputs = {&view_, 1}}; }
  const std::byte* data() const { return segment_.data; }
  bool IsEqual(const std::byte* other) const {
    return std::memcmp(other, segment_.data, kRowBytes) == 0;
  }

 private:
  std::vector<float> values_ = std::vector<float>(kElements);
  const std::vector<int64_t> dims_ = {kElements};
  const ByteSegment segment_ = {
      reinterpret_cast<const std::byte*>(values_.data()), kRowBytes};
  const TensorView view_ = {.dims = dims_, .segments = {&segment_, 1}};
};

// Pulls a batch, answers it with its own rows and delivers it.
void ServeByHand(Scheduler& scheduler, HostOutputPool& pool) {
  BatchPtr batch = scheduler.TryNextBatch(0);
  OutputRef output = pool.Take();
  HostOutputPool::Layout(*output.get(), 0, batch->rows(), DataType::kFp32,
                         batch->row_dims(0));
  const TimePoint begin = Clock::Steady().Now();
  GatherRows(*batch, 0, output->tensors()[0].data);
  batch->SetResult({}, std::move(output));
  scheduler.Finished(
      *batch, 0, {.compute_begin = begin, .compute_end = Clock::Steady().Now()},
      Computed::kOk);
  Deliver(std::move(batch));
}

void BM_FerryByHand(benchmark::State& state) {
  HostOutputPool pool(1, 4);
  const auto scheduler =
      *Scheduler::Create(PulledInstances{.each = {.spec = EchoSpec()}}, {});
  InProcessClient client(*scheduler, 1);
  const Row row;
  bool is_equal = true;
  for (auto _ : state) {
    absl::StatusOr<Future> future = client.Submit(row.arguments());
    ServeByHand(*scheduler, pool);
    const Reply reply = future->Get();
    const std::byte* const data = reply.output->tensors()[0].data;
    benchmark::DoNotOptimize(is_equal = is_equal && data[4] == row.data()[4]);
  }
  Check(is_equal, "the reply has the row");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FerryByHand)
    ->Name("request_on_one_thread/in_process_client")
    ->Apply(Counted);

struct PromisedRow {
  const std::byte* row;
  std::promise<std::vector<std::byte>> answer;

  void Answer() { answer.set_value({row, row + kRowBytes}); }
};

class PromiseServer {
 public:
  std::future<std::vector<std::byte>> Submit(const std::byte* row) {
    PromisedRow request{row, {}};
    std::future<std::vector<std::byte>> answer = request.answer.get_future();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(request));
    }
    changed_.notify_one();
    return answer;
  }

  // Returns false once it is stopped. Waits for a request.
  bool AnswerOne() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || is_stopped_; });
    if (queue_.empty()) {
      return false;
    }
    PromisedRow request = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    request.Answer();
    return true;
  }

  void Stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PromisedRow> queue_;
  bool is_stopped_ = false;
};

void BM_PromiseByHand(benchmark::State& state) {
  PromiseServer server;
  const Row row;
  bool is_equal = true;
  for (auto _ : state) {
    std::future<std::vector<std::byte>> answer = server.Submit(row.data());
    server.AnswerOne();
    const std::vector<std::byte> bytes = answer.get();
    benchmark::DoNotOptimize(is_equal = is_equal && bytes[4] == row.data()[4]);
  }
  Check(is_equal, "the reply has the row");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PromiseByHand)
    ->Name("request_on_one_thread/std_promise")
    ->Apply(Counted);

// One request at a time: the instance sleeps in between.
void BM_FerryRoundTrip(benchmark::State& state) {
  std::vector<std::unique_ptr<Instance>> instances;
  instances.push_back(*CpuInstance::Create(*EchoModel::Create(EchoSpec())));
  const auto scheduler = *Scheduler::Create(std::move(instances), {});
  InProcessClient client(*scheduler, 1);
  const Row row;
  Reply reply;
  for (auto _ : state) {
    reply = client.Submit(row.arguments())->Get();
  }
  Check(reply.outcome.ok() && row.IsEqual(reply.output->tensors()[0].data),
        "the reply has the row");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FerryRoundTrip)
    ->Name("request_round_trip/in_process_client")
    ->UseRealTime();

void BM_PromiseRoundTrip(benchmark::State& state) {
  PromiseServer server;
  std::thread worker([&] {
    while (server.AnswerOne()) {
    }
  });
  const Row row;
  std::vector<std::byte> answer;
  for (auto _ : state) {
    answer = server.Submit(row.data()).get();
  }
  server.Stop();
  worker.join();
  Check(row.IsEqual(answer.data()), "the reply has the row");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PromiseRoundTrip)
    ->Name("request_round_trip/std_promise")
    ->UseRealTime();

}  // namespace
}  // namespace ferry::bench
