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
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/control/model_entry.h"

namespace ferry {

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

  // Returns the entries that are gone and that no call uses any more.
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
  static void Add(std::atomic<uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }

  mutable Mutex mutex_;
  std::shared_ptr<const ServedSet> current_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<ModelEntry>> leaving_ ABSL_GUARDED_BY(mutex_);
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

  // As ModelTable::Find().
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
