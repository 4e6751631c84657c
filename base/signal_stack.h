// SignalStack gives the calling thread a stack for handlers of signals, so that
// one runs where the thread's own stack is full, as of an endless recursion.
//
// Thread safety: constructed and destroyed by one thread, which then has the
// stack that it had before. Handlers use it that ask for it (SA_ONSTACK).
#ifndef FERRY_BASE_SIGNAL_STACK_H_
#define FERRY_BASE_SIGNAL_STACK_H_

#include <csignal>
#include <memory>

namespace ferry {

class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  const std::unique_ptr<char[]> memory_;
  stack_t before_ = {};
};

}  // namespace ferry

#endif  // FERRY_BASE_SIGNAL_STACK_H_
