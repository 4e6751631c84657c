// Implements SharedRegions: opens objects of /dev/shm, and copies by pread and
// pwrite.
#include "server/codec/shared_regions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/printable_text.h"

namespace ferry {
namespace {

constexpr size_t kMaxNameBytes = 255;

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", PrintableText(text, kMaxNameBytes), "'");
}

// A key is the name of a file of /dev/shm, with a '/' before it or none.
absl::Status CheckKey(const std::string& key) {
  absl::string_view name = key;
  if (absl::StartsWith(name, "/")) {
    name.remove_prefix(1);
  }
  if (name.empty() || name.size() >= kMaxNameBytes || name == "." ||
      name == ".." || name.find('/') != absl::string_view::npos ||
      name.find('\0') != absl::string_view::npos ||
      absl::StartsWith(name, "sem.") ||      // semaphores, of any process
      absl::StartsWith(name, "cuda.shm")) {  // of the driver, under MPS
    return absl::InvalidArgumentError(absl::StrCat(
        "key: expected the name of a shared memory object, as '/name', got ",
        Quoted(key)));
  }
  return absl::OkStatus();
}

absl::StatusCode CodeOfOpening(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EACCES:
      return absl::StatusCode::kPermissionDenied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    default:  // a link, a folder, a pipe
      return absl::StatusCode::kInvalidArgument;
  }
}

// Returns the object, which has those bytes, and what the system says of it.
absl::StatusOr<OwnedFd> OpenObject(const std::string& key, uint64_t offset,
                                   uint64_t bytes, struct stat& found) {
  OwnedFd object(
      shm_open(key.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
  if (object.get() < 0) {
    const int error = errno;
    return absl::Status(CodeOfOpening(error),
                        absl::StrCat("cannot open the shared memory object ",
                                     Quoted(key), ": ", std::strerror(error)));
  }
  if (fstat(object.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "key: expected a shared memory object, got ", Quoted(key)));
  }
  if (found.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "expected a shared memory object of the server's user, got ",
        Quoted(key), " of another: run client and server as one user"));
  }
  const auto size = static_cast<uint64_t>(found.st_size);
  if (offset > size || bytes > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a range in the shared memory object ", Quoted(key), " of ",
        size, " bytes, got offset ", offset, " and byte_size ", bytes));
  }
  return object;
}

absl::Status Shorter(const std::string& key) {
  return absl::InvalidArgumentError(
      absl::StrCat("the shared memory object ", Quoted(key),
                   " has become shorter than the region that was registered"));
}

absl::Status CannotCopy(const std::string& key, int error) {
  return absl::Status(error == ENOSPC || error == ENOMEM
                          ? absl::StatusCode::kResourceExhausted
                          : absl::StatusCode::kInternal,
                      absl::StrCat("cannot use the shared memory object ",
                                   Quoted(key), ": ", std::strerror(error)));
}

}  // namespace

SharedRegion::SharedRegion(OwnedFd object, const Identity& identity,
                           std::string key, uint64_t offset, uint64_t bytes,
                           std::shared_ptr<Held> held)
    : object_(std::move(object)),
      identity_(identity),
      key_(std::move(key)),
      offset_(offset),
      bytes_(bytes),
      held_(std::move(held)) {
  held_->regions += 1;
  held_->bytes += bytes;
}

SharedRegion::~SharedRegion() {
  held_->regions -= 1;
  held_->bytes -= bytes_;
}

absl::Status SharedRegion::CheckRange(uint64_t offset, uint64_t bytes) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected a range in the region of ", bytes_,
                   " bytes, got shared_memory_offset ", offset,
                   " and shared_memory_byte_size ", bytes));
}

absl::Status SharedRegion::Read(uint64_t offset,
                                absl::Span<std::byte> to) const {
  auto at = static_cast<off_t>(offset_ + offset);
  while (!to.empty()) {
    const ssize_t count = pread(object_.get(), to.data(), to.size(), at);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count == 0 ? Shorter(key_) : CannotCopy(key_, errno);
    }
    to.remove_prefix(static_cast<size_t>(count));
    at += count;
  }
  return absl::OkStatus();
}

absl::Status SharedRegion::Write(uint64_t offset,
                                 absl::Span<const std::byte> from) const {
  auto at = static_cast<off_t>(offset_ + offset);
  // Past the object's end a write would make it longer, in memory that the
  // client has given up.
  struct stat found {};
  if (fstat(object_.get(), &found) != 0) {
    return CannotCopy(key_, errno);
  }
  if (at + static_cast<off_t>(from.size()) > found.st_size) {
    return Shorter(key_);
  }
  while (!from.empty()) {
    const ssize_t count = pwrite(object_.get(), from.data(), from.size(), at);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return CannotCopy(key_, count == 0 ? EIO : errno);
    }
    from.remove_prefix(static_cast<size_t>(count));
    at += count;
  }
  return absl::OkStatus();
}

class SharedRegions::Farewell {
 public:
  Farewell(std::function<void()> done, std::shared_ptr<SharedRegion::Held> held)
      : held_(std::move(held)), done_(std::move(done)) {
    held_->farewells += 1;
  }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  ~Farewell() { Tell(); }

  // Returns once `done` has returned, whichever thread called it.
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (done_) {
      std::exchange(done_, nullptr)();
      held_->farewells -= 1;
    }
  }

 private:
  const std::shared_ptr<SharedRegion::Held> held_;
  Mutex mutex_;
  std::function<void()> done_ ABSL_GUARDED_BY(mutex_);
};

absl::Status SharedRegions::Admit(const std::string& client,
                                  const std::string& name,
                                  const SharedRegion::Identity& identity,
                                  uint64_t bytes) const {
  for (const auto& [owner, regions] : clients_) {
    if (owner == client && regions.contains(name)) {
      return absl::AlreadyExistsError(
          absl::StrCat("shared memory region ", Quoted(name),
                       " is registered already; unregister it first"));
    }
    for (const auto& [of_owner, region] : regions) {
      if (owner != client && region->identity_ == identity) {
        return absl::PermissionDeniedError(
            "expected a shared memory object of this client, got one that "
            "another has registered");
      }
    }
    if (owner == client && regions.size() >= bounds_.of_client) {
      return absl::ResourceExhaustedError(
          absl::StrCat("expected at most ", bounds_.of_client,
                       " regions of one client, got one more; unregister what "
                       "is not used"));
    }
  }
  const Counts held = counts();
  if (held.regions >= bounds_.regions || held.bytes > bounds_.bytes ||
      bytes > bounds_.bytes - held.bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("expected at most ", bounds_.regions, " regions of ",
                     bounds_.bytes, " bytes of all clients, got one more, of ",
                     bytes, " bytes; unregister what is not used"));
  }
  return absl::OkStatus();
}

absl::Status SharedRegions::Register(const std::string& client,
                                     const std::string& name,
                                     const std::string& key, uint64_t offset,
                                     uint64_t bytes) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name: expected 1 to ", kMaxNameBytes, " bytes, got ", name.size()));
  }
  if (absl::Status status = CheckKey(key); !status.ok()) {
    return status;
  }
  if (bytes == 0) {
    return absl::InvalidArgumentError("byte_size: expected at least 1, got 0");
  }
  struct stat found {};
  absl::StatusOr<OwnedFd> object = OpenObject(key, offset, bytes, found);
  if (!object.ok()) {
    return object.status();
  }
  if (object->get() >= bounds_.first_reserved_file) {
    return absl::ResourceExhaustedError(
        "expected a descriptor that is left for the region, got none: "
        "connections have them; raise ulimit -n");
  }
  const SharedRegion::Identity identity = {.device = found.st_dev,
                                           .number = found.st_ino};
  MutexLock lock(mutex_);
  if (absl::Status status = Admit(client, name, identity, bytes);
      !status.ok()) {
    return status;
  }
  clients_[client].emplace(
      name, Region(new SharedRegion(*std::move(object), identity, key, offset,
                                    bytes, held_)));
  return absl::OkStatus();
}

absl::Status SharedRegions::Unregister(const std::string& client,
                                       const std::string& name,
                                       std::function<void()> done) {
  // Its last owner, which is the last region that is used, has it tell.
  std::shared_ptr<Farewell> farewell;
  std::vector<Region> gone;  // outlives the lock
  MutexLock lock(mutex_);
  std::erase_if(farewells_, [](const auto& one) { return one.expired(); });
  std::erase_if(leaving_, [](const auto& one) { return one.region.expired(); });
  if (farewells_.size() >= bounds_.waiting) {
    return absl::ResourceExhaustedError(
        absl::StrCat("expected at most ", bounds_.waiting,
                     " calls that wait until regions are used no more, got one "
                     "more; try again later"));
  }
  farewell = std::make_shared<Farewell>(std::move(done), held_);
  if (is_closed_) {
    return absl::OkStatus();
  }
  farewells_.push_back(farewell);
  if (const auto found = clients_.find(client); found != clients_.end()) {
    Regions& regions = found->second;
    for (auto at = regions.begin(); at != regions.end();) {
      if (!name.empty() && at->first != name) {
        ++at;
        continue;
      }
      leaving_.push_back({client, at->first, at->second});
      gone.push_back(std::move(at->second));
      at = regions.erase(at);
    }
    if (regions.empty()) {
      clients_.erase(found);
    }
  }
  for (const Leaving& leaving : leaving_) {
    if (leaving.client != client || (!name.empty() && leaving.name != name)) {
      continue;
    }
    if (Region region = leaving.region.lock(); region != nullptr) {
      region->told_.push_back(farewell);
      gone.push_back(std::move(region));
    }
  }
  return absl::OkStatus();
}

void SharedRegions::Close() {
  std::vector<std::shared_ptr<Farewell>> farewells;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    for (const std::weak_ptr<Farewell>& one : farewells_) {
      if (auto farewell = one.lock(); farewell != nullptr) {
        farewells.push_back(std::move(farewell));
      }
    }
  }
  for (const auto& farewell : farewells) {
    farewell->Tell();
  }
  // One whose last owner has just gone is told by that owner's thread.
  while (held_->farewells > 0) {
    std::this_thread::yield();
  }
}

absl::StatusOr<SharedRegions::Use> SharedRegions::Find(
    const std::string& client, const std::string& name) const {
  {
    MutexLock lock(mutex_);
    const auto regions = clients_.find(client);
    if (regions != clients_.end()) {
      const auto region = regions->second.find(name);
      if (region != regions->second.end()) {
        return Use(region->second);
      }
    }
  }
  return absl::NotFoundError(
      absl::StrCat("unable to find shared memory region: ", Quoted(name),
                   "; expected one that this client has registered"));
}

SharedRegions::ByName SharedRegions::All(const std::string& client) const {
  MutexLock lock(mutex_);
  const auto found = clients_.find(client);
  return found == clients_.end()
             ? ByName()
             : ByName(found->second.begin(), found->second.end());
}

}  // namespace ferry
