// StepRole: which thread does the batcher's steps. Whoever has news asks for a
// step; if nobody is at it, that thread is the stepper and does it on the spot,
// which takes less than waking another thread for it. Else the stepper does one
// more. (Flat combining, Hendler et al., SPAA 2010, without their list of
// requests: here those are in lists of their own.)
//
//   if (role.Ask()) {
//     do {
//       role.Begin();
//       ... take all news ...
//     } while (!role.TryLeave());
//   }
//
// Guarantee: one stepper at a time; what was published before Ask() is seen by
// a step that begins after it. What a stepper wrote is visible to the next one.
//
// Progress: wait-free.
//
// Thread safety: Ask() from any thread, the others from the stepper.
#ifndef FERRY_BATCHER_STEP_ROLE_H_
#define FERRY_BATCHER_STEP_ROLE_H_

#include <atomic>
#include <cstdint>

namespace ferry {

class StepRole {
 public:
  // Whether the caller is the stepper now.
  bool Ask() { return asked_.fetch_add(1, std::memory_order_seq_cst) == 0; }

  // What was asked for up to now is part of the step that begins.
  void Begin() { seen_ = asked_.load(std::memory_order_seq_cst); }

  // Gives the role up, unless there was another Ask() since Begin().
  bool TryLeave() {
    uint32_t seen = seen_;
    return asked_.compare_exchange_strong(seen, 0, std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<uint32_t> asked_{0};  // 0: there is no stepper
  uint32_t seen_ = 0;                           // stepper only
};

}  // namespace ferry

#endif  // FERRY_BATCHER_STEP_ROLE_H_
