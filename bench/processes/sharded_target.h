// ShardedTarget numbers the requests of one of several senders so that together
// they send those of one: each number once, its class and contents the same.
//
// Thread safety: that of the target.
#ifndef FERRY_BENCH_PROCESSES_SHARDED_TARGET_H_
#define FERRY_BENCH_PROCESSES_SHARDED_TARGET_H_

#include <cstdint>

#include "bench/load/target.h"

namespace ferry::bench {

// Which of how many. REQUIRES: index < count.
struct Share {
  uint64_t index = 0;
  uint64_t count = 1;
};

class ShardedTarget final : public Target {
 public:
  // `target` outlives it.
  ShardedTarget(Target& target, Share share) : target_(target), share_(share) {}

  void Send(uint64_t number, Caller& caller) override {
    target_.Send(OfAll(number), caller);
  }
  size_t class_count() const override { return target_.class_count(); }
  size_t ClassOf(uint64_t number) const override {
    return target_.ClassOf(OfAll(number));
  }
  void CancelAll() override { target_.CancelAll(); }

 private:
  uint64_t OfAll(uint64_t number) const {
    return number * share_.count + share_.index;
  }

  Target& target_;
  const Share share_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_PROCESSES_SHARDED_TARGET_H_
