// StoppedThreads stops threads wherever they are, as a scheduler does that
// takes the processor away: a signal's handler waits until the thread may go
// on.
//
// A thread may be stopped with a lock held, or as the stepper: the thread that
// stops them must let them go on without waiting for the others.
//
// Thread safety: Enter() and Leave() are called by each thread for itself, the
// others by one thread that is not among them. One object at a time: a signal's
// handler is the process's.
#ifndef FERRY_TESTS_STRESS_STOPPED_THREADS_H_
#define FERRY_TESTS_STRESS_STOPPED_THREADS_H_

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace ferry {

class StoppedThreads {
 public:
  static constexpr size_t kMaxThreads = 8;

  StoppedThreads();
  // REQUIRES: all have left.
  ~StoppedThreads();
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  // The calling thread is that one from now on, until Leave().
  void Enter(size_t index);
  void Leave(size_t index);

  // Sees to it that the thread stops where it is, soon, until LetGoOn();
  // nothing where it is not there.
  void Stop(size_t index);
  void LetGoOn(size_t index);

  bool Stands(size_t index) const {
    return threads_[index].phase.load() == kStands;
  }

 private:
  enum Phase : int { kIsAway, kRuns, kIsToStop, kStands };
  struct Thread {
    std::atomic<int> phase{kIsAway};
    pthread_t handle{};
  };

  static void OnSignal(int signal);

  std::array<Thread, kMaxThreads> threads_;
  struct sigaction before_ {};
};

}  // namespace ferry

#endif  // FERRY_TESTS_STRESS_STOPPED_THREADS_H_
