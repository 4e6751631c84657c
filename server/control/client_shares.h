// ClientShares holds what each client has under way and what was computed for
// it, and refuses a request that takes more than its client's part.
//
// Bounds: requests and bytes of each client, over all models. And a share of a
// model: each of its instances computes a batch while one more is collected;
// what is under way beyond these rows at work only waits longer. So where each
// instance has a batch already, a client that asks for more than its fair rate,
// or has twice the rows at work under way, is held to as much of them as that
// rate is of the whole. The fair rate is that of max-min fairness (Bertsekas
// and Gallager, Data Networks, 6.5.2): what clients that ask for less leave is
// divided evenly among the others. A client that asks alone is held to the
// model's queue.
//
// So one client's flood costs another the wait for some batches, not for the
// whole queue, and leaves no instance without work. A client that has nothing
// under way is never refused for others: a request of many batches is taken
// whole.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_CONTROL_CLIENT_SHARES_H_
#define FERRY_SERVER_CONTROL_CLIENT_SHARES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

// What each client may have under way at once, over all models; 0: no bound.
struct ClientBounds {
  int64_t requests = 0;
  int64_t bytes = 0;
};

// Why a request of a client was refused.
enum class ClientRefusal : uint8_t { kRequests, kBytes, kShare };
inline constexpr size_t kClientRefusalCount = 3;

// Returns "requests", "bytes" or "share", as the metric has it.
const char* NameOf(ClientRefusal refusal);

class ClientShares {
 public:
  struct Request {
    const std::string& client;  // its name
    const std::string& model_name;
    uint64_t model = 0;  // serial of the entry
    int64_t rows = 0;
    int64_t bytes = 0;
    int64_t batch_rows = 0;      // of the model's largest batch
    int64_t instances_rows = 0;  // of one such batch for each instance
  };

  // What one request has taken, until it goes. Move-only.
  class Hold;

  // The clock outlives it.
  explicit ClientShares(const ClientBounds& bounds,
                        const Clock& clock = Clock::Steady())
      : bounds_(bounds), clock_(clock) {}

  // Takes it for `hold`, which has none. Errors: RESOURCE_EXHAUSTED where the
  // client has too much under way already. A client that has nothing under way
  // is never refused.
  absl::Status Take(const Request& request, Hold& hold)
      ABSL_LOCKS_EXCLUDED(mutex_);

  struct Counts {
    std::string client;
    int64_t requests = 0;  // under way
    int64_t bytes = 0;
    std::array<uint64_t, kClientRefusalCount> refused{};  // ClientRefusal
    // What models computed for it, by their names, over all versions.
    std::map<std::string, Duration> computed;
  };
  // Returns those of all clients that have asked so far, by name.
  std::vector<Counts> Count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Client {
    int64_t requests = 0;  // under way
    int64_t bytes = 0;
    std::array<uint64_t, kClientRefusalCount> refused{};
    std::map<std::string, Duration> computed;
  };
  // Rows of the last second or so: each counts for less as it ages.
  class Rate {
   public:
    void Add(int64_t rows, TimePoint now) {
      Age(now);
      rows_ += static_cast<double>(rows);
    }
    void Age(TimePoint now);
    double rows() const { return rows_; }

   private:
    double rows_ = 0;
    TimePoint at_;
  };
  struct Part {
    int64_t rows = 0;  // under way
    Rate asked;        // taken or not
    TimePoint last;    // that it asked
  };
  struct Model {
    std::string name;
    int64_t rows = 0;  // under way
    Rate computed;     // which is what it carries
    // Those of clients that have some under way, or have asked of late.
    absl::flat_hash_map<const Client*, Part> parts;
    double fair = 0;   // what each client may ask for, as a Rate
    double whole = 0;  // of which that is a part
    TimePoint looked;  // when these two were brought up to date
  };

  static absl::Status Refuse(ClientRefusal why, Client& client);
  // Drops the parts of clients that have not asked of late.
  static void Forget(Model& model, TimePoint now);
  // Does so, and divides what the model carries among the others.
  static void Look(Model& model, int64_t rows_at_work, TimePoint now);
  // Whether the client would have more of the model than it may.
  static bool IsPastShare(const Request& request, const Part& own, Model& model,
                          TimePoint now);
  void GiveBack(const Hold& hold) ABSL_LOCKS_EXCLUDED(mutex_);

  const ClientBounds bounds_;
  const Clock& clock_;
  mutable Mutex mutex_;
  // Those that have asked so far: the files of tokens since the start bound
  // them.
  absl::node_hash_map<std::string, Client> clients_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Model> models_ ABSL_GUARDED_BY(mutex_);
};

class ClientShares::Hold {
 public:
  Hold() = default;
  Hold(Hold&& other) noexcept { *this = std::move(other); }
  Hold& operator=(Hold&& other) noexcept {
    std::swap(shares_, other.shares_);
    std::swap(client_, other.client_);
    std::swap(model_, other.model_);
    std::swap(rows_, other.rows_);
    std::swap(bytes_, other.bytes_);
    std::swap(computed_, other.computed_);
    return *this;
  }
  ~Hold() { Reset(); }

  // The model has computed the request, which took that part of a batch's
  // time: what the model carries is counted by these.
  void MarkComputed(Duration taken) { computed_ = taken; }

  void Reset() {
    if (ClientShares* const shares = std::exchange(shares_, nullptr)) {
      shares->GiveBack(*this);
    }
  }

 private:
  friend class ClientShares;

  ClientShares* shares_ = nullptr;  // null: nothing is taken
  Client* client_ = nullptr;
  uint64_t model_ = 0;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
  std::optional<Duration> computed_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_CLIENT_SHARES_H_
