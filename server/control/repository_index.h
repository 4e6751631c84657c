// RepositoryIndex reads which models there are on a thread of its own: many
// folders, or a file system that is slow, take longer than a gRPC thread has.
//
// What is asked while the index is being read is answered by the next reading,
// which is one for all that wait.
//
// Thread safety: thread-safe, except the destructor. Callbacks come on the
// thread, or on the caller's where it refuses.
// Errors: UNAVAILABLE once it is stopped; RESOURCE_EXHAUSTED where 64 wait.
#ifndef FERRY_SERVER_CONTROL_REPOSITORY_INDEX_H_
#define FERRY_SERVER_CONTROL_REPOSITORY_INDEX_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/joinable_thread.h"
#include "base/mutex.h"

namespace ferry {

enum class VersionState : uint8_t {
  kLoading,
  kReady,
  kUnloading,
  kUnavailable
};

// Returns "LOADING", "READY", "UNLOADING" or "UNAVAILABLE".
const char* VersionStateName(VersionState state);

struct IndexEntry {
  std::string name;
  std::string version = {};  // empty: none is or was loaded
  VersionState state = VersionState::kUnavailable;
  std::string reason =
      {};  // why it is not served, or not replaced; may be empty
};

class RepositoryIndex {
 public:
  using Entries = std::vector<IndexEntry>;
  using Done = std::function<void(const absl::StatusOr<Entries>&)>;

  static constexpr size_t kMaxWaiting = 64;

  // `read` is called on the thread.
  explicit RepositoryIndex(std::function<Entries()> read);
  ~RepositoryIndex();

  void Ask(const Done& done) ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads no more; what waits is refused.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for a reading that is under way, at most until `until`: where it
  // returns true no callback comes any more. REQUIRES: Stop().
  bool JoinBy(TimePoint until) { return thread_.JoinBy(until); }

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<Entries()> read_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Done> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  JoinableThread thread_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_REPOSITORY_INDEX_H_
