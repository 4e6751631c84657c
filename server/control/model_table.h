// ModelTable holds the models that are served now, as requests look them up.
//
// What is served is one constant value, ServedSet, that is replaced as a whole
// when a model comes or goes. A queue's thread looks up in a ModelTableView,
// its own reference to the set, which costs a lookup no lock and no shared
// counter but the entry's.
//
// Thread safety: ModelTable is thread-safe; a ModelTableView is its thread's.
// Errors: NOT_FOUND for a model or version that is not served, UNAVAILABLE for
// a version that comes or goes, INVALID_ARGUMENT for a version that is no
// number; the text quotes the client.
#ifndef FERRY_SERVER_CONTROL_MODEL_TABLE_H_
#define FERRY_SERVER_CONTROL_MODEL_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/relaxed_copy.h"
#include "models/repository/served_model.h"
#include "server/control/load_meter.h"
#include "server/control/model_counts.h"

namespace ferry {

// ModelEntry is one served version of a model: it holds what the service counts
// and knows about it, and counts its users.
//
// Life: made when the version is ready; closed when the table takes it out,
// after which it gets no new user; and when the last user has gone its model is
// destroyed. A call uses it from its lookup to its end, so a call that was let
// in is served whole, whatever replaces the version meanwhile.
//
// Thread safety: thread-safe; no lock. What model() refers to lives as long as
// a use of it.
class ModelEntry {
 public:
  // `changes`: 1 where it takes the place of the same version in bf16, which
  // failed.
  explicit ModelEntry(std::shared_ptr<const ServedModel> model,
                      uint64_t changes = 0)
      : version(std::to_string(model->version)),
        precision_changes(changes),
        model_(std::move(model)) {}
  ModelEntry(const ModelEntry&) = delete;
  ModelEntry& operator=(const ModelEntry&) = delete;

  // REQUIRES: in use by the caller, or not closed yet.
  const ServedModel& model() const { return *model_; }

  const std::string version;             // as the protocol writes it
  const uint64_t serial = NextSerial();  // differs for every entry ever made
  const uint64_t precision_changes;
  // Requests that named this model and failed the codec's checks.
  std::atomic<uint64_t> invalid_requests{0};
  // Requests refused by ClientShares, and by MemoryGuard.
  std::atomic<uint64_t> client_refusals{0};
  std::atomic<uint64_t> memory_refusals{0};
  // Rows of requests that were admitted, or refused for lack of room.
  std::atomic<uint64_t> arrived_rows{0};
  // Bytes of messages: requests that passed the codec's checks, and replies.
  std::atomic<uint64_t> received_bytes{0};
  std::atomic<uint64_t> sent_bytes{0};
  // Whether an instance is at a batch for far longer than was predicted, and
  // how often that began; by BackendWatch.
  std::atomic<bool> is_overdue{false};
  std::atomic<uint64_t> overdue_batches{0};
  // What arrives, of what the instances carry; brought up to date by
  // BackendWatch.
  RelaxedCopy<ModelLoad> load;
  // What a refused client is told to wait, from the last observed throughput.
  std::atomic<int64_t> retry_pushback_ms{50};

  // Whether the caller may use it now, until EndUse(). False: it is closed.
  bool TryUse() {
    if ((users_.fetch_add(kOneUser, std::memory_order_acquire) & kClosed) ==
        0) {
      return true;
    }
    EndUse();
    return false;
  }
  // One more user, though it may be closed. REQUIRES: it cannot be abandoned
  // meanwhile.
  void UseAgain() { users_.fetch_add(kOneUser, std::memory_order_relaxed); }
  void EndUse() { users_.fetch_sub(kOneUser, std::memory_order_release); }

  // Lets no user in any more.
  void Close() { users_.fetch_or(kClosed, std::memory_order_acq_rel); }
  // Closed, and all users have gone.
  bool is_abandoned() const {
    return users_.load(std::memory_order_acquire) == kClosed;
  }

  // What it has counted so far. REQUIRES: as of model().
  ModelCounts Count() const;

  // Destroys the model, unless others share it; waits for its threads.
  // REQUIRES: is_abandoned(), or no call uses it ever again.
  void DestroyModel() { model_.reset(); }

 private:
  static constexpr uint64_t kClosed = 1;
  static constexpr uint64_t kOneUser = 2;

  static uint64_t NextSerial() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::shared_ptr<const ServedModel> model_;
  std::atomic<uint64_t> users_{0};
};

// A use of an entry, or of none. Move-only.
class ModelUse {
 public:
  ModelUse() = default;
  // The caller's use becomes this one's.
  explicit ModelUse(ModelEntry& used) : entry_(&used) {}
  ModelUse(ModelUse&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  ModelUse& operator=(ModelUse&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~ModelUse() { Reset(); }

  explicit operator bool() const { return entry_ != nullptr; }
  ModelEntry& operator*() const { return *entry_; }
  ModelEntry* operator->() const { return entry_; }

  void Reset() {
    if (ModelEntry* const entry = std::exchange(entry_, nullptr)) {
      entry->EndUse();
    }
  }

 private:
  ModelEntry* entry_ = nullptr;
};

// What all that bore a name and a number have counted since the start.
struct CountedVersion {
  std::string name;
  std::string version;
  ModelUse use;  // of what is served now, or of nothing
  ModelCounts counts;
};

struct ServedSet {
  struct Named {
    std::vector<std::shared_ptr<ModelEntry>> ready;  // newest version first
    // Versions that are loaded or unloaded just now, for messages.
    std::vector<int64_t> not_ready;
  };

  // It holds names that are known but have no version, too.
  absl::flat_hash_map<std::string, Named> by_name;

  // All entries, by name, then version.
  std::vector<std::shared_ptr<ModelEntry>> All() const;
};

class ModelTable {
 public:
  // Nothing is served.
  ModelTable() : current_(std::make_shared<const ServedSet>()) {}

  // Replaces what is served. Entries that are gone are closed, and kept until
  // TakeAbandoned().
  void Publish(ServedSet served);

  // From now on calls `listener` with what is served: at once, and after each
  // Publish(). It is called under the table's lock, so it calls nothing of the
  // table. Returns when the one before is not called any more; an empty one
  // ends it.
  void Listen(std::function<void(const ServedSet&)> listener);

  // Returns the entries that are gone and that no call uses any more; what they
  // have counted is kept.
  std::vector<std::shared_ptr<ModelEntry>> TakeAbandoned();
  // Returns all that are gone and not taken yet, in use or not.
  std::vector<std::shared_ptr<ModelEntry>> TakeLeaving();
  // How many these are.
  size_t leaving_count() const;

  // Version "": the latest.
  absl::StatusOr<ModelUse> Find(const std::string& name,
                                const std::string& version) const;

  // Uses of all versions that are served, by name, then version.
  std::vector<ModelUse> UseAll() const;
  // Uses of those that are gone and not taken yet, which so are not abandoned.
  std::vector<ModelUse> UseLeaving() const;
  // Uses of both: of all that have requests to answer.
  std::vector<ModelUse> UseEach() const;

  // Counts of all versions that are or were served, by name, then version; of
  // those that are gone the last 256.
  std::vector<CountedVersion> Count() const;

  std::shared_ptr<const ServedSet> current() const;
  // Moves on with each Publish().
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  // Messages that were no ModelInferRequest, or named no served model.
  void CountMalformed() { Add(malformed_requests_); }
  void CountUnknownModel() { Add(unknown_model_requests_); }
  uint64_t malformed_requests() const { return malformed_requests_.load(); }
  uint64_t unknown_model_requests() const {
    return unknown_model_requests_.load();
  }

 private:
  void KeepCounts(const ModelEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  static void Add(std::atomic<uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }

  mutable Mutex mutex_;
  std::shared_ptr<const ServedSet> current_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<ModelEntry>> leaving_ ABSL_GUARDED_BY(mutex_);
  // What destroyed entries have counted, by name and number.
  struct Past {
    std::string name;
    int64_t version;
    ModelCounts counts;
  };
  std::deque<Past> past_ ABSL_GUARDED_BY(mutex_);  // the last to go last
  std::function<void(const ServedSet&)> listener_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> malformed_requests_{0};
  std::atomic<uint64_t> unknown_model_requests_{0};
};

class ModelTableView {
 public:
  // The table outlives the view.
  explicit ModelTableView(ModelTable& table)
      : table_(table), seen_(table.generation()), served_(table.current()) {}

  // Does what ModelTable::Find() does.
  absl::StatusOr<ModelUse> Find(const std::string& name,
                                const std::string& version);

  ModelTable& table() { return table_; }

 private:
  ModelTable& table_;
  uint64_t seen_;
  std::shared_ptr<const ServedSet> served_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_TABLE_H_
