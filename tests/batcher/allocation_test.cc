// Steady state allocates nothing per request: every operator new is counted
// between warm-up and end.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "batcher/batcher.h"
#include "batcher/event_count.h"
#include "batcher/future.h"
#include "batcher/host_backend.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/test_request.h"

namespace {

std::atomic<int64_t> allocation_count{0};

void* CountedAllocate(size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

void* operator new(size_t size) { return CountedAllocate(size); }
void* operator new[](size_t size) { return CountedAllocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace ferry {
namespace {

constexpr int kRequests = 16;
constexpr int kRounds = 50;

std::unique_ptr<Batcher> MakeBatcher(std::unique_ptr<HostModel> model,
                                     PolicyKind policy,
                                     const HostBackendOptions& options = {}) {
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::move(model));
  auto backend = HostBackend::Create(std::move(models), options);
  EXPECT_TRUE(backend.ok());
  auto batcher = Batcher::Create(
      *std::move(backend),
      {.max_batch_size = 4, .policy = policy, .max_wait = Milliseconds(0.1)});
  EXPECT_TRUE(batcher.ok());
  return *std::move(batcher);
}

// A completion that itself allocates nothing.
class Ending final : public Completion {
 public:
  void Respond(Outcome outcome, OutputRows, Last) override {
    ok_count += outcome.ok() ? 1 : 0;
  }
  void Released() override {
    is_released.store(1, std::memory_order_release);
    is_released.notify_one();
  }

  std::atomic<int> ok_count{0};
  std::atomic<int> is_released{0};
};

// One round: all requests in, some cancelled, some with a deadline, all ended.
void RunRound(Batcher& batcher, std::deque<TestRequest>& requests,
              std::deque<Ending>& endings) {
  for (int i = 0; i < kRequests; ++i) {
    InferRequest& request = requests[static_cast<size_t>(i)].request();
    Ending& ending = endings[static_cast<size_t>(i)];
    request.Reset();
    request.completion = &ending;
    request.deadline =
        i % 3 == 0 ? Clock::Steady().Now() + Milliseconds(50) : kNever;
    ending.is_released.store(0);
    ASSERT_TRUE(batcher.Submit(request).ok());
    if (i % 5 == 0) {
      batcher.Cancel(request);
    }
  }
  for (Ending& ending : endings) {
    ending.is_released.wait(0);
  }
}

void ExpectSteady(Batcher& batcher) {
  std::deque<TestRequest> requests(kRequests);
  std::deque<Ending> endings(kRequests);
  // Until what grows has grown: buffers of the pool, hand-over queues.
  for (int round = 0; round < kRounds; ++round) {
    RunRound(batcher, requests, endings);
  }
  const int64_t before = allocation_count.load();
  for (int round = 0; round < kRounds; ++round) {
    RunRound(batcher, requests, endings);
  }
  // An output buffer more may be under way at once than ever before: that
  // grows the pool by a few allocations, not by one a request.
  EXPECT_LE(allocation_count.load() - before, 4 * 5)
      << "in " << kRounds * kRequests << " requests";
}

TEST(Allocation, SteadyStateOfTheBatcherAllocatesNothing) {
  for (PolicyKind policy :
       {PolicyKind::kEager, PolicyKind::kWindow, PolicyKind::kAdaptive}) {
    SCOPED_TRACE(PolicyName(policy));
    const auto batcher = MakeBatcher(*EchoModel::Create(RowSpec()), policy);
    ExpectSteady(*batcher);
  }
}

// Slow enough that the next batch is staged beside one.
class SlowModel final : public EchoModel {
 public:
  explicit SlowModel(std::atomic<int>& staged_beside)
      : EchoModel(RowSpec()), staged_beside_(staged_beside) {}

  Outcome Stage(const Batch& batch) override {
    staged_beside_ += computes_ ? 1 : 0;
    return EchoModel::Stage(batch);
  }
  Outcome Compute(const Batch& batch, OutputRef& output) override {
    computes_ = true;
    never_notified_.Wait(never_notified_.PrepareWait(),
                         Clock::Steady().Now() + Milliseconds(1.2));
    computes_ = false;
    return EchoModel::Compute(batch, output);
  }

 private:
  std::atomic<int>& staged_beside_;
  std::atomic<bool> computes_{false};
  EventCount never_notified_;
};

TEST(Allocation, BatchesThatAreStagedAheadAllocateNothing) {
  std::atomic<int> staged_beside{0};
  const auto batcher = MakeBatcher(std::make_unique<SlowModel>(staged_beside),
                                   PolicyKind::kEager, {.slots_per_lane = 2});
  ExpectSteady(*batcher);
  EXPECT_GT(staged_beside, kRounds / 10);
}

TEST(Allocation, FuturesAllocateNothing) {
  TestRequest request;
  const InferArguments arguments = {.inputs = request.request().inputs};
  const auto batcher =
      MakeBatcher(*EchoModel::Create(RowSpec()), PolicyKind::kEager);
  InProcessClient client(*batcher, 2);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client.Submit(arguments)->Get().outcome.ok());
  }
  const int64_t before = allocation_count.load();
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(client.Submit(arguments)->Get().outcome.ok());
  }
  EXPECT_LE(allocation_count.load() - before, 20);
}

}  // namespace
}  // namespace ferry
