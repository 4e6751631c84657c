// Tests that steady state allocates nothing per request: every operator new is
// counted between warm-up and end.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/scheduler.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/test_request.h"

namespace {

std::atomic<int64_t> allocation_count{0};
thread_local bool has_memory = true;

void* CountedAllocate(size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (!has_memory) {
    throw std::bad_alloc();
  }
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

std::unique_ptr<Scheduler> MakeScheduler(PolicyKind policy) {
  std::vector<std::unique_ptr<Instance>> instances;
  instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  auto scheduler = Scheduler::Create(
      std::move(instances),
      {.max_batch_size = 4, .policy = policy, .max_wait = Milliseconds(0.1)});
  EXPECT_TRUE(scheduler.ok());
  return *std::move(scheduler);
}

// A completion that itself allocates nothing.
class FlagCompletion final : public Completion {
 public:
  void Respond(const RequestResult&) override {
    is_answered.store(1, std::memory_order_release);
    is_answered.notify_one();
  }

  std::atomic<int> is_answered{0};
};

// One round: all requests in, some cancelled, some with a deadline, all ended.
void RunRound(Scheduler& scheduler, std::deque<TestRequest>& requests,
              std::deque<FlagCompletion>& completions) {
  for (int i = 0; i < kRequests; ++i) {
    InferRequest& request = requests[static_cast<size_t>(i)].request();
    FlagCompletion& completion = completions[static_cast<size_t>(i)];
    request.Reset();
    request.completion = &completion;
    request.deadline =
        i % 3 == 0 ? Clock::Steady().Now() + Milliseconds(50) : kNever;
    completion.is_answered.store(0);
    ASSERT_TRUE(scheduler.Submit(request).ok());
    if (i % 5 == 0) {
      scheduler.Cancel(request);
    }
  }
  for (FlagCompletion& completion : completions) {
    completion.is_answered.wait(0);
  }
}

void ExpectSteady(Scheduler& scheduler) {
  std::deque<TestRequest> requests(kRequests);
  std::deque<FlagCompletion> completions(kRequests);
  // Until what grows has grown: buffers of the pool.
  for (int round = 0; round < kRounds; ++round) {
    RunRound(scheduler, requests, completions);
  }
  const int64_t before = allocation_count.load();
  for (int round = 0; round < kRounds; ++round) {
    RunRound(scheduler, requests, completions);
  }
  // An output buffer more may be under way at once than ever before: that
  // grows the pool by a few allocations, not by one a request.
  EXPECT_LE(allocation_count.load() - before, 4 * 5)
      << "in " << kRounds * kRequests << " requests";
}

TEST(Allocation, SteadyStateOfTheSchedulerAllocatesNothing) {
  for (PolicyKind policy :
       {PolicyKind::kEager, PolicyKind::kWindow, PolicyKind::kAdaptive}) {
    SCOPED_TRACE(PolicyName(policy));
    const auto scheduler = MakeScheduler(policy);
    ExpectSteady(*scheduler);
  }
}

TEST(Allocation, RequestThatCannotBeSplitIsNotAdmitted) {
  const auto scheduler = MakeScheduler(PolicyKind::kEager);
  TestRequest large({.id = 1, .rows = 10});
  has_memory = false;
  EXPECT_THROW(scheduler->Submit(large.request()).IgnoreError(),
               std::bad_alloc);
  has_memory = true;
  const SchedulerStatistics counts = scheduler->Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
}

}  // namespace
}  // namespace ferry
