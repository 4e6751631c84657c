// Implements IgnoreStraySignals() over sigaction().
#include "base/stray_signals.h"

#include <csignal>
#include <initializer_list>

namespace ferry {
namespace {

void IgnoreUnlessHandled(int number) {
  struct sigaction action = {};
  if (sigaction(number, nullptr, &action) == 0 &&
      action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

void IgnoreStraySignals() {
  for (const int number : {SIGPIPE, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
                           SIGSTKFLT, SIGXFSZ, SIGPWR}) {
    IgnoreUnlessHandled(number);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    IgnoreUnlessHandled(number);
  }
}

}  // namespace ferry
