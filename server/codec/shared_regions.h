// SharedRegions holds the shared memory that clients have registered, and
// copies tensors from it and to it.
//
// A region is a descriptor, and is mapped nowhere: bytes are copied by pread
// and pwrite. So a client that cuts its object short has an error, where a
// mapping would have this process a SIGBUS.
//
// Each region is its client's: no other finds it, or registers its object. An
// object has to be of the server's own user: so what a client has the server
// read and write, a process of that user can read and write as well.
//
// Thread safety: thread-safe. The objects' bytes are the clients', which may
// write them at any time: what was read is checked after it was read.
#ifndef FERRY_SERVER_CODEC_SHARED_REGIONS_H_
#define FERRY_SERVER_CODEC_SHARED_REGIONS_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/owned_fd.h"

namespace ferry {

// What a client is told where shared memory is not offered.
inline constexpr char kNoSharedMemory[] =
    "shared memory is not offered; start the server with --allow-client-shm, "
    "or send and receive tensors in the messages";

// A part of an object that a client has registered.
class SharedRegion {
 public:
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }
  uint64_t bytes() const { return bytes_; }

  // OK where that range lies in the region. Errors: INVALID_ARGUMENT.
  absl::Status CheckRange(uint64_t offset, uint64_t bytes) const;

  // Copy bytes of the region from `offset` on. REQUIRES: CheckRange() is OK.
  // Errors: INVALID_ARGUMENT where the object has become shorter; one that is
  // cut while it is written may grow again, to the region's end at most.
  absl::Status Read(uint64_t offset, absl::Span<std::byte> to) const;
  absl::Status Write(uint64_t offset, absl::Span<const std::byte> from) const;

 private:
  friend class SharedRegions;

  // Which object it is, whatever its name.
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const Identity&) const = default;
  };
  // Regions that are registered, or used; their bytes.
  struct Held {
    std::atomic<size_t> regions{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<size_t> farewells{0};  // that were not told yet
  };

  SharedRegion(OwnedFd object, const Identity& identity, std::string key,
               uint64_t offset, uint64_t bytes, std::shared_ptr<Held> held);

  const OwnedFd object_;
  const Identity identity_;
  const std::string key_;
  const uint64_t offset_;  // in the object
  const uint64_t bytes_;
  const std::shared_ptr<Held> held_;
  // The farewells that the region owns: each calls its `done` when its last
  // region is destroyed.
  std::vector<std::shared_ptr<void>> told_;
};

class SharedRegions {
 public:
  // Those that requests use still count after they are unregistered.
  struct Bounds {
    size_t regions = 256;  // each has a descriptor
    size_t of_client = 128;
    // What is written to an object that its client has not is the server's
    // memory to the system.
    uint64_t bytes = uint64_t{1} << 30;
    size_t waiting = 64;  // calls of Unregister() that are not done
    int first_reserved_file = std::numeric_limits<int>::max();
  };
  using Use = std::shared_ptr<const SharedRegion>;
  // A client's regions, by name.
  using ByName = std::map<std::string, Use>;

  explicit SharedRegions(const Bounds& bounds) : bounds_(bounds) {}
  ~SharedRegions() { Close(); }
  SharedRegions(const SharedRegions&) = delete;
  SharedRegions& operator=(const SharedRegions&) = delete;

  // Opens the object of that key, as shm_open has it, and takes the range as
  // `name`. Errors: INVALID_ARGUMENT for a name, key or range that is none,
  // NOT_FOUND, PERMISSION_DENIED, ALREADY_EXISTS, RESOURCE_EXHAUSTED past the
  // bounds.
  absl::Status Register(const std::string& client, const std::string& name,
                        const std::string& key, uint64_t offset, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Forgets the region, or all of the client where the name is empty, and calls
  // `done` once no request uses them any more: maybe at once, from any thread.
  // Those that were forgotten before and are still used count as well. Errors:
  // RESOURCE_EXHAUSTED past the bound, then none is forgotten or called.
  absl::Status Unregister(const std::string& client, const std::string& name,
                          std::function<void()> done)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Errors: NOT_FOUND.
  absl::StatusOr<Use> Find(const std::string& client,
                           const std::string& name) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  ByName All(const std::string& client) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls each `done` that waits, and returns when all have returned. From now
  // on Unregister() calls its own at once.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  struct Counts {
    size_t regions = 0;
    uint64_t bytes = 0;
  };
  Counts counts() const {
    return {.regions = held_->regions, .bytes = held_->bytes};
  }

 private:
  using Region = std::shared_ptr<SharedRegion>;
  using Regions = std::map<std::string, Region>;
  // Calls once what waits for regions that are unregistered.
  class Farewell;
  struct Leaving {
    std::string client;
    std::string name;
    std::weak_ptr<SharedRegion> region;
  };

  absl::Status Admit(const std::string& client, const std::string& name,
                     const SharedRegion::Identity& identity,
                     uint64_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Bounds bounds_;
  const std::shared_ptr<SharedRegion::Held> held_ =
      std::make_shared<SharedRegion::Held>();
  mutable Mutex mutex_;
  std::map<std::string, Regions> clients_ ABSL_GUARDED_BY(mutex_);
  std::vector<Leaving> leaving_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Farewell>> farewells_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_SERVER_CODEC_SHARED_REGIONS_H_
