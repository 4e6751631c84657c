// What it costs to pass the gate of a shared device: alone, and where two
// models with one lane each take turns.
//
// Nobody sleeps: a thread plays both lanes, on a clock of its own. The peers
// share by who came first and know no weights.
#include <cstdint>
#include <deque>
#include <mutex>
#include <semaphore>
#include <vector>

#include "batcher/check.h"
#include "batcher/device_gate.h"
#include "batcher/weighted_gate.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

constexpr Duration kBatch = std::chrono::milliseconds(1);

class Client final : public GateClient {
 public:
  using GateClient::GateClient;
  void GateFree() override { ++told; }
  int64_t told = 0;
};

// One place; those who wait, oldest first.
class FifoGate final : public DeviceGate {
 public:
  Turn TryEnter(GateClient& client, TimePoint) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (client.state == GateClient::State::kOutside) {
      client.state = GateClient::State::kWaiting;
      waiting_.push_back(&client);
      LetIn();
    }
    return {.is_let_in = client.state == GateClient::State::kLetIn};
  }

  void Leave(GateClient& client, Duration, TimePoint) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    client.state = GateClient::State::kOutside;
    is_free_ = true;
    LetIn();
  }

 private:
  void LetIn() {
    if (is_free_ && !waiting_.empty()) {
      waiting_.front()->state = GateClient::State::kLetIn;
      waiting_.front()->GateFree();
      waiting_.pop_front();
      is_free_ = false;
    }
  }

  std::mutex mutex_;
  bool is_free_ = true;
  std::deque<GateClient*> waiting_;
};

class WeightedGateOfOne final : public DeviceGate {
 public:
  Turn TryEnter(GateClient& client, TimePoint now) override {
    return gate_.TryEnter(client, now);
  }
  void Leave(GateClient& client, Duration taken, TimePoint now) override {
    gate_.Leave(client, taken, now);
  }

 private:
  WeightedGate gate_{1};
};

// A backend does not know which gate it has.
DeviceGate& AsBackendsSeeIt(DeviceGate& gate) {
  DeviceGate* seen = &gate;
  benchmark::DoNotOptimize(seen);
  return *seen;
}

template <typename Gate>
void BM_PassAlone(benchmark::State& state) {
  Gate any_gate;
  DeviceGate& gate = AsBackendsSeeIt(any_gate);
  GateShare share;
  Client client(share);
  TimePoint now = FromNanos(1);
  int64_t passed = 0;
  for (auto _ : state) {
    passed += gate.TryEnter(client, now).is_let_in ? 1 : 0;
    now += kBatch;
    gate.Leave(client, kBatch, now);
  }
  Check(passed == static_cast<int64_t>(state.iterations()),
        "who is alone is let in");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PassAlone<WeightedGateOfOne>)
    ->Name("pass_alone/weighted_gate")
    ->Apply(Counted);
BENCHMARK(BM_PassAlone<OpenGate>)->Name("pass_alone/open_gate")->Apply(Counted);
BENCHMARK(BM_PassAlone<FifoGate>)
    ->Name("pass_alone/mutex_fifo")
    ->Apply(Counted);

void BM_PassSemaphore(benchmark::State& state) {
  std::counting_semaphore<64> semaphore(1);
  int64_t passed = 0;
  for (auto _ : state) {
    passed += semaphore.try_acquire() ? 1 : 0;
    semaphore.release();
  }
  Check(passed == static_cast<int64_t>(state.iterations()),
        "who is alone is let in");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PassSemaphore)
    ->Name("pass_alone/counting_semaphore")
    ->Apply(Counted);

// One computes and the other waits; then they change places.
template <typename Gate>
void BM_TakeTurns(benchmark::State& state) {
  Gate any_gate;
  DeviceGate& gate = AsBackendsSeeIt(any_gate);
  GateShare shares[2];
  Client clients[] = {Client(shares[0]), Client(shares[1])};
  TimePoint now = FromNanos(1);
  Check(gate.TryEnter(clients[0], now).is_let_in, "the first is let in");
  int computes = 0;
  for (auto _ : state) {
    Client& waits = clients[1 - computes];
    gate.TryEnter(waits, now);
    now += kBatch;
    gate.Leave(clients[computes], kBatch, now);
    now += WeightedGate::kKeep;  // a place may be kept for who has left
    gate.TryEnter(waits, now);
    computes = 1 - computes;
  }
  Check(clients[computes].state == GateClient::State::kLetIn &&
            clients[0].told + clients[1].told >
                static_cast<int64_t>(state.iterations()),
        "each was let in, and told, in turn");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_TakeTurns<WeightedGateOfOne>)
    ->Name("take_turns/weighted_gate")
    ->Apply(Counted);
BENCHMARK(BM_TakeTurns<FifoGate>)
    ->Name("take_turns/mutex_fifo")
    ->Apply(Counted);

}  // namespace
}  // namespace ferry::bench
