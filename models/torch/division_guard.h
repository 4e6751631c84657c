// DivisionGuard keeps an integer division in a model from ending the process.
//
// An x86 processor faults (SIGFPE) where an integer is divided by zero, or the
// smallest one by -1. Code that torch compiles, and some of LibTorch's own,
// divides by what a request sends. While a guard lives, such a division gives 0
// in any thread, what follows it runs on, and the guard tells; without one the
// fault ends the process, as ever. Other processors do not fault.
//
// Thread safety: a guard is of the thread that made it. Guards may nest.
// Invariant: a fault in a guard's thread is that guard's alone. One in a thread
// without a guard, such as LibTorch's for a part of an operator, is told by all
// that live then and may have work there: whose work it did is not known.
// Cost: a fault takes some microseconds, as the system hands it over: an input
// of a million zeros, seconds.
#ifndef FERRY_MODELS_TORCH_DIVISION_GUARD_H_
#define FERRY_MODELS_TORCH_DIVISION_GUARD_H_

#include <cstdint>

namespace ferry {

// Whose faults a guard tells.
enum class FaultsOf : uint8_t {
  kThisThread,    // its work is done in its thread alone
  kOtherThreads,  // also those of threads without a guard
};

class DivisionGuard {
 public:
  explicit DivisionGuard(FaultsOf faults_of = FaultsOf::kOtherThreads);
  ~DivisionGuard();
  DivisionGuard(const DivisionGuard&) = delete;
  DivisionGuard& operator=(const DivisionGuard&) = delete;

  // Whether there was such a division since it was made.
  bool has_faulted() const;

 private:
  const FaultsOf faults_of_;
  const int64_t other_faults_;  // in threads without a guard, when it was made
  const int64_t own_faults_;    // as above, in this thread
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DIVISION_GUARD_H_
