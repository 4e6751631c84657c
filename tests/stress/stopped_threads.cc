// Implements StoppedThreads: the signal's handler, and the waits for it.
#include "tests/stress/stopped_threads.h"

#include <cerrno>
#include <thread>

#include "base/check.h"

namespace ferry {
namespace {

constexpr int kSignal = SIGUSR1;

// It belongs to the thread that the handler interrupts.
thread_local std::atomic<int>* own_phase = nullptr;

}  // namespace

StoppedThreads::StoppedThreads() {
  struct sigaction action {};
  action.sa_handler = &OnSignal;
  action.sa_flags = SA_RESTART;
  Check(sigaction(kSignal, &action, &before_) == 0, "the signal is handled");
}

StoppedThreads::~StoppedThreads() { sigaction(kSignal, &before_, nullptr); }

void StoppedThreads::Enter(size_t index) {
  Thread& thread = threads_[index];
  thread.handle = pthread_self();
  own_phase = &thread.phase;
  thread.phase.store(kRuns);
}

// A thread that is to stop stays until then: the signal is on its way to it.
void StoppedThreads::Leave(size_t index) {
  int runs = kRuns;
  while (!threads_[index].phase.compare_exchange_strong(runs, kIsAway)) {
    runs = kRuns;
    std::this_thread::yield();
  }
}

void StoppedThreads::Stop(size_t index) {
  Thread& thread = threads_[index];
  int runs = kRuns;
  if (thread.phase.compare_exchange_strong(runs, kIsToStop)) {
    Check(pthread_kill(thread.handle, kSignal) == 0, "the thread is there");
  }
}

void StoppedThreads::LetGoOn(size_t index) {
  Thread& thread = threads_[index];
  if (thread.phase.load() != kIsAway) {
    thread.phase.store(kRuns);
    thread.phase.notify_one();
  }
}

void StoppedThreads::OnSignal(int) {
  const int error = errno;  // of the interrupted thread
  int is_to_stop = kIsToStop;
  if (own_phase != nullptr &&
      own_phase->compare_exchange_strong(is_to_stop, kStands)) {
    while (own_phase->load() == kStands) {
      own_phase->wait(kStands);
    }
  }
  errno = error;
}

}  // namespace ferry
