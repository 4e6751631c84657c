// IgnoreStraySignals() keeps signals that mean nothing to a program of Ferry's
// from ending it, which is what the system lets them do.
//
// Those are SIGPIPE, SIGUSR2, the timers' and those of input and output. A
// signal that has a handler, as a profiler's, keeps it. Of SIGCHLD, which a
// parent may have ignored, it is the other way: ignored, it would have the
// system reap the program's children (waitpid(2)), so it is as it begins.
//
// Thread safety: for the main thread, before it starts others.
#ifndef FERRY_BASE_STRAY_SIGNALS_H_
#define FERRY_BASE_STRAY_SIGNALS_H_

namespace ferry {

void IgnoreStraySignals();

}  // namespace ferry

#endif  // FERRY_BASE_STRAY_SIGNALS_H_
