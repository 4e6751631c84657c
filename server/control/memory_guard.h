// MemoryGuard keeps the process from being ended for want of memory, which
// would lose all that is under way.
//
// It is *short* of memory while the process uses more than `refuse_percent` of
// its limit: then large requests are refused. Past `end_percent` the process
// has to drain and end, and be started anew. What counts is what the system
// cannot take back without ending a process: anonymous and shared memory, not
// mapped files. What the allocator keeps is given back first.
//
// Thread safety: one thread looks; the rest is for any.
#ifndef FERRY_SERVER_CONTROL_MEMORY_GUARD_H_
#define FERRY_SERVER_CONTROL_MEMORY_GUARD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace ferry {

// Parts of the limit; 0: never.
struct MemoryBounds {
  int refuse_percent = 90;
  int end_percent = 97;
};

class MemoryGuard {
 public:
  // The memory of the process: how many bytes it uses, nothing where the system
  // does not say, as where it has no more files; and how to give back what is
  // free.
  struct Memory {
    std::function<std::optional<int64_t>()> used;
    std::function<void()> give_back;
  };

  // Requests up to that size are never refused.
  static constexpr uint64_t kSmall = uint64_t{64} << 10;

  // Returns the memory of this process.
  static Memory OfProcess();

  // `limit`: in bytes.
  MemoryGuard(const MemoryBounds& bounds, int64_t limit,
              Memory memory = OfProcess())
      : refuse_from_(PartOf(limit, bounds.refuse_percent)),
        end_from_(PartOf(limit, bounds.end_percent)),
        limit_(limit),
        memory_(std::move(memory)) {}

  // Called from time to time. Returns why the process must end, or nothing;
  // tells the log when it comes to be short of memory, and when no more. Where
  // the system does not say, all stays as it is.
  std::optional<std::string> Look();

  // Whether a request of that many bytes may be taken.
  bool Takes(uint64_t bytes) const { return bytes <= kSmall || !is_short(); }

  bool is_short() const { return is_short_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  // At the last look.
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  // Percent 0: more than there can be.
  static int64_t PartOf(int64_t limit, int percent) {
    return percent == 0 ? INT64_MAX : limit / 100 * percent;
  }

  const int64_t refuse_from_;
  const int64_t end_from_;
  const int64_t limit_;
  const Memory memory_;
  std::atomic<int64_t> used_{0};
  std::atomic<bool> is_short_{false};
};

}  // namespace ferry

#endif  // FERRY_SERVER_CONTROL_MEMORY_GUARD_H_
