// PullModel plays the wake-up protocol of batcher/scheduler.h in every
// interleaving of its atomic steps: producers that each submit one request,
// instances that pull, and the timer. It is a model of the protocol, not of the
// code: sequentially consistent, one row a request, request i due at moment
// i + 1.
//
// A state in which no thread can move, but for time and for batches that
// compute, must keep what the protocol promises (Problem()).
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_
#define FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace ferry {

// What the protocol leaves out, to see that the model notices.
enum class Mutation {
  kNone,
  kRowsReadBeforePush,
  kNoLookAfterWaitersPublication,
  kNoWakeForWhatStaysBehind,
  kLeavingPublishesNothing,
  kNoLookAfterLeaversPublication,
  kKeyTakenAfterPublication,
  kAlarmIsNotHandedOn,
  kTimerPublishesWithoutMutex,
  kNoLookAfterTimersPublication,
  kLookReadBeforePush,
};
inline constexpr int kMutationCount = 11;

struct PullModelOptions {
  int producers = 2;       // to kMaxProducers
  int instances = 2;       // to kMaxInstances
  int batch = 2;           // rows
  bool is_window = false;  // else eager
  bool has_timer = false;  // requests have deadlines
  Mutation mutation = Mutation::kNone;
};

class PullModel {
 public:
  static constexpr int kMaxProducers = 4;
  static constexpr int kMaxInstances = 3;

  explicit PullModel(const PullModelOptions& options) : options_(options) {}

  struct Result {
    size_t states = 0;
    size_t at_rest = 0;
    std::string problem;  // empty: none
  };
  Result Explore() const;

 private:
  // As in base/event_count.h.
  struct Event {
    uint8_t is_prepared, is_woken;

    void Prepare() { *this = {.is_prepared = 1, .is_woken = 0}; }
    void Notify() {
      if (is_prepared != 0) {
        *this = {.is_prepared = 0, .is_woken = 1};
      }
    }
  };

  struct State {
    uint8_t rows;     // the admission counter
    uint8_t inbox;    // requests, as bits
    uint8_t queue;    // requests, as bits
    uint8_t mutex;    // its holder; 0: free
    uint8_t is_over;  // the window of what is queued has ended
    uint8_t notify_rows, notify_instance;  // the word; rows 0: none
    uint8_t look_at;                       // 0: never; 1: now
    struct Producer {
      uint8_t step, rows, at_rows, at_instance, look_at;
      auto operator<=>(const Producer&) const = default;
    };
    std::array<Producer, kMaxProducers> producers;
    struct Puller {
      uint8_t step, wait_number;  // in the order of waiting; 0: does not wait
      uint8_t has_alarm, leaves, wake;  // wake: instance + 1
      Event event;
    };
    std::array<Puller, kMaxInstances> pullers;
    struct Timer {
      uint8_t step, look_at, fires;
      Event event;
    } timer;
  };
  using Emit = std::function<void(const State&)>;

  // The requests of both. Without the timer neither requests nor producers are
  // told apart: so many requests are the lowest bits.
  uint8_t Join(uint8_t some, uint8_t more) const;
  void MoveProducer(State next, int index, const Emit& emit) const;
  void MovePuller(State next, int index, const Emit& emit) const;
  void MoveTimer(State next, const Emit& emit) const;
  void PassTime(const State& state, const Emit& emit) const;

  bool Leaves(const State& state) const;
  bool NeedsAlarm(const State& state) const;
  static uint8_t Designated(const State& state);  // instance + 1, or 0
  std::string Problem(State state) const;

  const PullModelOptions options_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_
