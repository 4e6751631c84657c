// ModelEntry is one served version of a model: it holds what the service counts
// and knows about it, and counts its users. ModelUse holds it in use.
//
// Life: made when the version is ready; closed when the table takes it out,
// after which it gets no new user; and when the last user has gone its model is
// destroyed. A call uses it from its lookup to its end, so a call that was let
// in is served whole, whatever replaces the version meanwhile.
//
// Thread safety: thread-safe; no lock. What model() refers to lives as long as
// a use of it.
#ifndef FERRY_SERVER_CONTROL_MODEL_ENTRY_H_
#define FERRY_SERVER_CONTROL_MODEL_ENTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "models/repository/served_model.h"

namespace ferry {

class ModelEntry {
 public:
  explicit ModelEntry(std::shared_ptr<const ServedModel> model)
      : version(std::to_string(model->version)), model_(std::move(model)) {}
  ModelEntry(const ModelEntry&) = delete;
  ModelEntry& operator=(const ModelEntry&) = delete;

  // REQUIRES: in use by the caller, or not closed yet.
  const ServedModel& model() const { return *model_; }

  const std::string version;             // as the protocol writes it
  const uint64_t serial = NextSerial();  // differs for every entry ever made
  // Requests that named this model and failed the codec's checks.
  std::atomic<uint64_t> invalid_requests{0};
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

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MODEL_ENTRY_H_
