// ShortSlice: while it lives, the calling thread is run sooner after it wakes,
// beside others that want its processor: Linux 6.12 and later takes the thread
// first whose slice ends first, and lets a waking one with a shorter slice
// interrupt (EEVDF, sched_setattr(2); Linux, Documentation/scheduler/
// sched-eevdf.rst). It gets no larger share of time, and needs no privilege.
// Elsewhere, and of a thread that is scheduled in another way, it does nothing.
//
// Thread safety: of one thread, which destroys it, too.
#ifndef FERRY_BENCH_LOAD_SHORT_SLICE_H_
#define FERRY_BENCH_LOAD_SHORT_SLICE_H_

#include <cstdint>
#include <optional>

namespace ferry::bench {

class ShortSlice {
 public:
  ShortSlice();
  ~ShortSlice();
  ShortSlice(const ShortSlice&) = delete;
  ShortSlice& operator=(const ShortSlice&) = delete;

  // The calling thread's slice in ns, 0: the system does not tell.
  static uint64_t OfThisThread();

 private:
  std::optional<uint64_t> before_;  // ns; none: it was left as it was
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_SHORT_SLICE_H_
