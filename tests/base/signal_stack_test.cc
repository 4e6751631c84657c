// Tests that handlers run on a SignalStack while it lives.
#include "base/signal_stack.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <thread>

namespace ferry {
namespace {

uintptr_t handled_at = 0;  // an address on the stack of the handler

// A local variable may be elsewhere, as AddressSanitizer has it.
void Handle(int) {
  handled_at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

// Returns the stack of the calling thread for handlers.
stack_t CurrentStack() {
  stack_t stack = {};
  EXPECT_EQ(sigaltstack(nullptr, &stack), 0);
  return stack;
}

bool IsWithin(uintptr_t address, const stack_t& stack) {
  const auto begin = reinterpret_cast<uintptr_t>(stack.ss_sp);
  return address >= begin && address < begin + stack.ss_size;
}

TEST(SignalStackTest, HandlerRunsOnItAndTheOneBeforeComesBack) {
  struct sigaction action = {};
  action.sa_handler = &Handle;
  action.sa_flags = SA_ONSTACK;
  struct sigaction old = {};
  ASSERT_EQ(sigaction(SIGUSR2, &action, &old), 0);
  std::thread([] {
    const stack_t before = CurrentStack();
    {
      const SignalStack its;
      const stack_t stack = CurrentStack();
      EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
      EXPECT_GE(stack.ss_size, size_t{64} << 10);
      raise(SIGUSR2);
      EXPECT_TRUE(IsWithin(handled_at, stack));
    }
    EXPECT_EQ(CurrentStack().ss_sp, before.ss_sp);
    EXPECT_EQ(CurrentStack().ss_flags, before.ss_flags);
  }).join();
  sigaction(SIGUSR2, &old, nullptr);
}

}  // namespace
}  // namespace ferry
