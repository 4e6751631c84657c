// sched_getattr(2) and sched_setattr(2), for which glibc has no functions.
#include "bench/load/short_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ferry::bench {
namespace {

constexpr uint64_t kShortestNs = 100'000;  // that Linux takes

// Of linux/sched/types.h, in its first version.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // ns; of SCHED_OTHER: the slice
  uint64_t deadline = 0;
  uint64_t period = 0;
};

bool Read(Attributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0;
}

// Leaves all else as it is.
bool SetSlice(uint64_t ns) {
  Attributes attributes;
  if (!Read(attributes) || attributes.policy != SCHED_OTHER) {
    return false;
  }
  attributes.runtime = ns;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

ShortSlice::ShortSlice() {
  const uint64_t before = OfThisThread();
  if (before > kShortestNs && SetSlice(kShortestNs)) {
    before_ = before;
  }
}

ShortSlice::~ShortSlice() {
  if (before_.has_value()) {
    SetSlice(*before_);
  }
}

uint64_t ShortSlice::OfThisThread() {
  Attributes attributes;
  return Read(attributes) && attributes.policy == SCHED_OTHER
             ? attributes.runtime
             : 0;
}

}  // namespace ferry::bench
