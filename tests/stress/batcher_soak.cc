// batcher-soak puts a mixed load on the scheduler in this process, as long as
// it is told: random rows, deadlines and cancels, batches that fail and throw,
// full queues, and a scheduler that is drained or destroyed every few seconds
// with requests queued and running. Built with ThreadSanitizer in the tsan
// preset.
//
//   batcher_soak [--seconds S] [--seed N]
//
// Errors: exit code 1 where the account does not balance (G1).
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/check.h"
#include "batcher/cpu_instance.h"
#include "batcher/scheduler.h"
#include "batcher/sim/simulated_model.h"
#include "tests/stress/soak_call.h"

namespace ferry {
namespace {

constexpr int kSubmitters = 3;
constexpr size_t kCallsOfSubmitter = 96;
constexpr int32_t kMaxRows = 20;  // more than some batches take: split
constexpr Duration kRound = std::chrono::seconds(3);

struct SoakOptions {
  double seconds = 60;
  uint64_t seed = 1;
};

// What differs from round to round.
struct Round {
  SchedulerOptions scheduler;
  int32_t instances = 1;
  Duration alpha{0};        // of the simulated device
  bool is_drained = false;  // else destroyed with requests queued
};

Round RandomRound(std::mt19937_64& random) {
  Round round;
  round.scheduler.max_batch_size = random() % 2 == 0 ? 8 : 32;
  round.scheduler.policy = static_cast<PolicyKind>(random() % 3);
  round.scheduler.max_wait = Milliseconds(2);
  round.scheduler.queue.requests = random() % 2 == 0 ? 64 : 4096;
  round.scheduler.preserve_ordering = random() % 3 == 0;
  round.scheduler.enough_rows = static_cast<int32_t>(random() % 12);
  round.instances = 1 + static_cast<int32_t>(random() % 2);
  round.is_drained = random() % 2 == 0;
  round.alpha = Milliseconds(random() % 2 == 0 ? 0.2 : 1.2);
  return round;
}

std::unique_ptr<Scheduler> MakeScheduler(const Round& round, uint64_t seed) {
  ModelSpec spec;
  spec.max_batch_size = round.scheduler.max_batch_size;
  spec.inputs = {{"x", DataType::kInt64, {SoakCall::kWidth}}};
  spec.outputs = {{"y", DataType::kInt64, {SoakCall::kWidth}}};
  std::vector<std::unique_ptr<Instance>> instances;
  for (int32_t i = 0; i < round.instances; ++i) {
    SimulatedModelOptions options;
    options.alpha = round.alpha;
    options.beta = Milliseconds(0.02);
    options.jitter = 0.5;
    options.fail_every = 37;
    options.throw_every = 53;
    options.seed = seed + static_cast<uint64_t>(i);
    auto model = SimulatedModel::Create(spec, options);
    Check(model.ok(), "the simulated model is valid");
    auto instance = CpuInstance::Create(*std::move(model));
    Check(instance.ok(), "the instance warms up");
    instances.push_back(*std::move(instance));
  }
  auto scheduler = Scheduler::Create(std::move(instances), round.scheduler);
  Check(scheduler.ok(), "the scheduler's options are valid");
  return *std::move(scheduler);
}

// One thread's calls, and the load it puts on a scheduler.
class Submitter {
 public:
  Submitter(SoakCounts& counts, std::atomic<int64_t>& next_number,
            uint64_t seed)
      : next_number_(next_number), random_(seed) {
    for (size_t i = 0; i < kCallsOfSubmitter; ++i) {
      calls_.push_back(std::make_unique<SoakCall>(counts, kMaxRows));
    }
  }

  // Submits and cancels until `stop`; leaves what is under way under way.
  void Load(Scheduler& scheduler, const std::atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {
      SoakCall& call = *calls_[random_() % calls_.size()];
      if (call.is_idle()) {
        SubmitOne(scheduler, call);
      } else if (random_() % 64 == 0) {
        // Under way, ending, or ended just now: each must do.
        scheduler.Cancel(call.request());
      } else {
        std::this_thread::yield();
      }
    }
  }

  bool all_idle() const {
    for (const auto& call : calls_) {
      if (!call->is_idle()) {
        return false;
      }
    }
    return true;
  }

 private:
  void SubmitOne(Scheduler& scheduler, SoakCall& call) {
    const auto rows = 1 + static_cast<int32_t>(random_() % kMaxRows);
    TimePoint deadline = kNever;
    if (random_() % 5 == 0) {
      deadline = Clock::Steady().Now() +
                 Duration(static_cast<int64_t>(random_() % 6'000'000));
    }
    call.Prepare(next_number_.fetch_add(1, std::memory_order_relaxed), rows,
                 deadline);
    if (const absl::Status status = scheduler.Submit(call.request());
        !status.ok()) {
      call.Refused(status.code());
    } else if (random_() % 10 == 0) {
      scheduler.Cancel(call.request());
    }
  }

  std::atomic<int64_t>& next_number_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<SoakCall>> calls_;
};

void RunRound(const Round& round, uint64_t seed,
              std::vector<std::unique_ptr<Submitter>>& submitters) {
  std::unique_ptr<Scheduler> scheduler = MakeScheduler(round, seed);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const auto& submitter : submitters) {
    threads.emplace_back([&] { submitter->Load(*scheduler, stop); });
  }
  EventCount never_notified;
  const TimePoint end = Clock::Steady().Now() + kRound;
  while (Clock::Steady().Now() < end) {
    never_notified.Wait(never_notified.PrepareWait(), end);
  }
  if (round.is_drained) {
    // Under load: what comes after is refused, what came before is served.
    Check(scheduler->Drain(end + Milliseconds(60000)).ok(), "a drain ends");
  }
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) {
    thread.join();
  }
  scheduler.reset();
  for (const auto& submitter : submitters) {
    Check(submitter->all_idle(), "a scheduler that is gone has answered all");
  }
}

int Soak(const SoakOptions& options) {
  SoakCounts counts;
  std::atomic<int64_t> next_number{0};
  std::mt19937_64 random(options.seed);
  std::vector<std::unique_ptr<Submitter>> submitters;
  for (int i = 0; i < kSubmitters; ++i) {
    submitters.push_back(
        std::make_unique<Submitter>(counts, next_number, random()));
  }
  const TimePoint end =
      Clock::Steady().Now() + Milliseconds(options.seconds * 1e3);
  int rounds = 0;
  while (Clock::Steady().Now() < end) {
    RunRound(RandomRound(random), random(), submitters);
    ++rounds;
  }
  const auto print = [](const char* name, uint64_t count) {
    std::printf("%-20s %llu\n", name, static_cast<unsigned long long>(count));
  };
  print("seed", options.seed);
  print("rounds", static_cast<uint64_t>(rounds));
  print("sent", counts.sent);
  print("refused", counts.refused);
  print("answered", counts.answered);
  print("sum by code", counts.sum_by_code());
  for (size_t code = 0; code < kStatusCodeCount; ++code) {
    if (counts.by_code[code] > 0) {
      print(
          absl::StatusCodeToString(static_cast<absl::StatusCode>(code)).c_str(),
          counts.by_code[code]);
    }
  }
  print("answered twice", counts.answered_twice);
  print("wrong rows", counts.wrong_rows);
  std::printf("%s\n", counts.balances() ? "balances" : "DOES NOT BALANCE");
  return counts.balances() ? 0 : 1;
}

}  // namespace
}  // namespace ferry

int main(int argc, char** argv) {
  ferry::SoakOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) {
      options.seconds = std::atof(argv[i + 1]);
    } else if (std::strcmp(argv[i], "--seed") == 0) {
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: batcher_soak [--seconds S] [--seed N]\n");
      return 1;
    }
  }
  return ferry::Soak(options);
}
