// Implements SignalStack over sigaltstack(2).
#include "base/signal_stack.h"

#include <algorithm>
#include <cstddef>

namespace ferry {
namespace {

// What Abseil's handler of crashes has for the main thread, too.
constexpr long kLeastBytes = 64 << 10;

size_t StackBytes() {
  return static_cast<size_t>(std::max<long>(SIGSTKSZ, kLeastBytes));
}

}  // namespace

SignalStack::SignalStack()
    : memory_(std::make_unique_for_overwrite<char[]>(StackBytes())) {
  const stack_t stack = {
      .ss_sp = memory_.get(), .ss_flags = 0, .ss_size = StackBytes()};
  sigaltstack(&stack, &before_);
}

SignalStack::~SignalStack() { sigaltstack(&before_, nullptr); }

}  // namespace ferry
