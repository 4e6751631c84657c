// Implements IgnoreStraySignals() over sigaction().
#include "base/stray_signals.h"

#include <csignal>
#include <initializer_list>

namespace ferry {
namespace {

void Replace(int number, sighandler_t before, sighandler_t after) {
  struct sigaction action = {};
  if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == before) {
    action.sa_handler = after;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

void IgnoreStraySignals() {
  for (const int number : {SIGPIPE, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
                           SIGSTKFLT, SIGXFSZ, SIGPWR}) {
    Replace(number, SIG_DFL, SIG_IGN);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    Replace(number, SIG_DFL, SIG_IGN);
  }
  Replace(SIGCHLD, SIG_IGN, SIG_DFL);
}

}  // namespace ferry
