// Implements RepositoryIndex: its thread reads once for all that wait.
#include "server/control/repository_index.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {

const char* VersionStateName(VersionState state) {
  switch (state) {
    case VersionState::kLoading:
      return "LOADING";
    case VersionState::kReady:
      return "READY";
    case VersionState::kUnloading:
      return "UNLOADING";
    case VersionState::kUnavailable:
      break;
  }
  return "UNAVAILABLE";
}

RepositoryIndex::RepositoryIndex(std::function<Entries()> read)
    : read_(std::move(read)) {
  thread_.Start([this] { Run(); });
}

RepositoryIndex::~RepositoryIndex() {
  Stop();
  JoinBy(kNever);
}

void RepositoryIndex::Ask(const Done& done) {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (is_stopped_) {
      status = absl::UnavailableError(
          "server is draining and reads its models' folders no more");
    } else if (waiting_.size() == kMaxWaiting) {
      status = absl::ResourceExhaustedError(
          absl::StrCat("expected at most ", kMaxWaiting,
                       " calls that wait for the index, got one more"));
    } else {
      waiting_.push_back(done);
      changed_.SignalAll();
      return;
    }
  }
  done(status);
}

void RepositoryIndex::Run() {
  pthread_setname_np(pthread_self(), "ferry-index");
  for (;;) {
    std::vector<Done> waiting;
    {
      MutexLock lock(mutex_);
      while (!is_stopped_ && waiting_.empty()) {
        changed_.WaitUntil(mutex_, kNever);
      }
      if (is_stopped_) {
        return;
      }
      waiting.swap(waiting_);
    }
    const absl::StatusOr<Entries> entries = read_();
    for (const Done& done : waiting) {
      done(entries);
    }
  }
}

void RepositoryIndex::Stop() {
  std::vector<Done> waiting;
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    waiting.swap(waiting_);
    changed_.SignalAll();
  }
  for (const Done& done : waiting) {
    Ask(done);  // which refuses
  }
}

}  // namespace ferry
