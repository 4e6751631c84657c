// ExplorePullModel() plays the wake-up protocol of batcher/scheduler.h in every
// interleaving of its atomic steps: producers that each submit one request,
// instances that pull, and the timer. It is a model of the protocol, not of the
// code: sequentially consistent, one row a request, request i due at moment
// i + 1.
//
// A state in which no thread can move, but for time and for batches that
// compute, must keep what the protocol promises (Problem()).
//
// Thread safety: free function over values.
#ifndef FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_
#define FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_

#include <cstddef>
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
  size_t producers = 2;    // to 4
  size_t instances = 2;    // to 3
  int batch = 2;           // rows
  bool is_window = false;  // else eager
  bool has_timer = false;  // requests have deadlines
  Mutation mutation = Mutation::kNone;
};

struct PullModelResult {
  size_t states = 0;
  size_t at_rest = 0;
  std::string problem;  // empty: none
};

// Plays all states, or until one has a problem.
PullModelResult ExplorePullModel(const PullModelOptions& options);

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_MODEL_PULL_MODEL_H_
