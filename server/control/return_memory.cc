// Implements MemoryReturn with tcmalloc where it is linked, else glibc.
#include "server/control/return_memory.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <utility>

// Declared as in gperftools/malloc_extension_c.h; null without tcmalloc.
extern "C" {
void MallocExtension_ReleaseFreeMemory() __attribute__((weak));
void MallocExtension_ReleaseToSystem(size_t bytes) __attribute__((weak));
int MallocExtension_GetNumericProperty(const char* property, size_t* value)
    __attribute__((weak));
int MallocExtension_SetNumericProperty(const char* property, size_t value)
    __attribute__((weak));
}

namespace ferry {
namespace {

// All threads' caches together, which tcmalloc lets grow to 32 MiB: slowly,
// over hours, so that it looks like a leak.
constexpr size_t kThreadCacheBytes = size_t{4} << 20;

bool HasTcmalloc() { return &MallocExtension_ReleaseFreeMemory != nullptr; }

size_t FreeInTcmalloc() {
  size_t bytes = 0;
  MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &bytes);
  return bytes;
}

// glibc counts what it has given back as free: `returned` is that.
MemoryReturn::Heap Glibc() {
  const auto returned = std::make_shared<size_t>(0);
  return {.free_bytes =
              [returned] {
                const size_t free = mallinfo2().fordblks;
                *returned = std::min(*returned, free);
                return free - *returned;
              },
          .give_back =
              [returned](size_t) {
                malloc_trim(0);
                *returned = mallinfo2().fordblks;
              }};
}

}  // namespace

void BoundFreedMemory() {
  if (HasTcmalloc()) {
    MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes",
                                       kThreadCacheBytes);
  }
}

void ReturnFreedMemory() {
  if (HasTcmalloc()) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    malloc_trim(0);
  }
}

MemoryReturn::Heap MemoryReturn::OfProcess() {
  return HasTcmalloc() ? Heap{.free_bytes = &FreeInTcmalloc,
                              .give_back = &MallocExtension_ReleaseToSystem}
                       : Glibc();
}

void MemoryReturn::Look(TimePoint now) {
  const size_t free = heap_.free_bytes();
  if (since_ == kNever) {
    since_ = now;
    least_ = free;
  }
  least_ = std::min(least_, free);
  if (now - since_ < kUnused / 2) {
    return;
  }
  const size_t unused = std::min(least_, std::exchange(least_before_, least_));
  if (unused >= kWorthIt) {
    for (size_t given = 0; given < unused && heap_.free_bytes() >= kWorthIt;
         given += kMaxStep) {  // glibc gives all back in the first
      heap_.give_back(std::min(kMaxStep, unused - given));
    }
  }
  since_ = now;
  least_ = heap_.free_bytes();
}

}  // namespace ferry
